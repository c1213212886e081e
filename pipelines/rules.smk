# What every paper has in common: run the grid points, make tables, draw, judge, report.

from snakemake.io import sourcecache_entry

PROFILE = config["profile"]
NAMED = config["papers"].split(",")
PAPERS = shelf.wanted(NAMED)
ABOUT = {paper: shelf.paper(paper) for paper in PAPERS}
FIGURES = {paper: grid.made(paper) for paper in PAPERS}
POINTS = {
    (paper, figure): grid.points(paper, figure, PROFILE)
    for paper in PAPERS
    for figure in FIGURES[paper]
}
BATCHES = {paper: batches.batches(paper, PROFILE) for paper in PAPERS}

BUILDS = builds.module_builds()

PYTHON = sys.executable
# A step finds all its inputs below results/, which is elsewhere when Snakemake has fetched them from
# a storage (docs/cluster.md).
STEP = (
    'exec >{log:q} 2>&1; cd "$(dirname {output[0]:q})"/../.. && '
    f"{PYTHON} -m sandglass.papers.steps "
)


def source(path: Path) -> str:
    """A file of the checkout as an input, which is never fetched from a storage."""
    return sourcecache_entry(str(path), str(path))


def rooms(*names: str) -> list[str]:
    """The code below src/sandglass whose change has to repeat a step, by its folders."""
    return [
        source(path)
        for name in names
        for path in sorted((ROOT / "src" / "sandglass" / name).glob("*"))
        if path.suffix in (".py", ".jinja")
    ]


def told(*names: str):
    """Files that say what a paper, or a {figure} of it, is and claims; those that there are."""

    def files(wildcards) -> list[str]:
        home = PAPERS[wildcards.paper]
        paths = [path for name in names for path in home.glob(name.format(**wildcards))]
        if variant := ABOUT[wildcards.paper].variant:
            paths.append(variants.file(home, variant))
        return [source(path) for path in sorted(paths)]

    return files


def code(wildcards) -> list[str]:
    """What makes a paper's figures: its folder, and the code below src/sandglass."""
    return [
        *map(source, shelf.code(PAPERS[wildcards.paper])),
        *rooms("experiment", "results", "studies", "papers"),
    ]


def run_directories(wildcards) -> list[str]:
    return [point.directory for point in POINTS[wildcards.paper, wildcards.figure]]


def outputs(paper: str) -> list[str]:
    """Everything a paper's pipeline makes for people, the page first."""
    figures = [
        f"{figure}.{kind}"
        for figure in FIGURES[paper]
        for kind in ("svg", "png", "csv")
    ]
    return [
        f"results/{paper}/{name}"
        for name in ["report.html", "verdicts.csv", "runs.csv", *figures]
    ]


LAB = builds.lab_build()
# A run whose plan stays the same is taken from the cache then.
PLANNING = builds.planning()


resource_scopes:
    lab="local",


# A cluster's job has asked for the processor and the memory of one lab.
if workflow.remote_exec:
    workflow.register_resource("lab", 1)


localrules:
    collect,
    list_runs,
    report_figure,
    report,
    index,


wildcard_constraints:
    paper="|".join(PAPERS),
    figure="|".join(sorted({figure for names in FIGURES.values() for figure in names})),


for batch in [batch for batches in BATCHES.values() for batch in batches]:

    rule:
        name:
            batch.rule
        input:
            [source(path) for path in batch.kind.files],
        output:
            [directory(run) for run in batch.directories],
        log:
            f"results/logs/{batch.paper}/{batch.rule}.log",
        resources:  # what a cluster reserves; a lab has one thread
            lab=1,
            mem_mb=ABOUT[batch.paper].head.memory_mb,
            runtime=jobs.minutes(batch.tasks),
        params:
            lab=LAB,
            planning=PLANNING,
            modules=[BUILDS[name] for name in batch.kind.modules],
            tasks=jobs.told(batch.tasks),
        message:
            f"Run {batch.kind.experiment}, {len(batch.tasks)} times"
        shell:
            'exec >{log:q} 2>&1; cd "$(dirname {output[0]:q})"/../../../.. && '
            "{PYTHON} -m sandglass.studies.batch {rule} <<<{params.tasks:q}"


rule table:
    input:
        runs=run_directories,
        code=code,
    output:
        csv="results/{paper}/{figure}.csv",
        source="results/{paper}/{figure}.json",
    log:
        "results/logs/{paper}/{figure}.table.log",
    params:
        profile=PROFILE,
    message:
        "Table of {wildcards.paper}/{wildcards.figure}"
    shell:
        STEP + "table {wildcards.paper} {wildcards.figure} {params.profile}"


# One process for both: most of either's time goes to importing the figure's code.
rule figure:
    input:
        rules.table.output,
        code=code,
        told=told(shelf.ABOUT, shelf.AMENDED, "{figure}.yaml"),
    output:
        svg="results/{paper}/{figure}.svg",
        png="results/{paper}/{figure}.png",
        verdicts="results/{paper}/{figure}.verdicts.csv",
    log:
        "results/logs/{paper}/{figure}.log",
    message:
        "Figure and verdicts of {wildcards.paper}/{wildcards.figure}"
    shell:
        STEP + "figure {wildcards.paper} {wildcards.figure}"


rule collect:
    input:
        lambda wildcards: expand(
            rules.figure.output.verdicts,
            paper=wildcards.paper,
            figure=FIGURES[wildcards.paper],
        ),
    output:
        "results/{paper}/verdicts.csv",
    log:
        "results/logs/{paper}/verdicts.log",
    message:
        "Verdicts of {wildcards.paper}"
    shell:
        STEP + "collect {wildcards.paper}"


rule list_runs:
    input:
        lambda wildcards: [
            run for batch in BATCHES[wildcards.paper] for run in batch.directories
        ],
        modules=rooms("experiment", "results", "studies", "papers"),
    output:
        "results/{paper}/runs.csv",
    log:
        "results/logs/{paper}/runs.log",
    params:
        profile=PROFILE,
    message:
        "Runs of {wildcards.paper}"
    shell:
        STEP + "runs {wildcards.paper} {params.profile}"


rule report_figure:
    input:
        rules.figure.output,
        rules.table.output,
        told=told(shelf.ABOUT, "{figure}.yaml"),
        template=source(ROOT / "pipelines/report.html.jinja"),
        frame=source(ROOT / "src/sandglass/results/pages/base.html.jinja"),
        modules=rooms("experiment", "results", "results/pages", "studies", "papers"),
    output:
        "results/{paper}/{figure}.html",
    log:
        "results/logs/{paper}/{figure}.report.log",
    message:
        "Page of {wildcards.paper}/{wildcards.figure}"
    shell:
        STEP + "report {wildcards.paper} {wildcards.figure}"


rule report:
    input:
        lambda wildcards: expand(
            [*rules.figure.output, *rules.table.output],
            paper=wildcards.paper,
            figure=FIGURES[wildcards.paper],
        ),
        verdicts=rules.collect.output,
        runs=rules.list_runs.output,
        told=told("*.yaml", shelf.ABSTRACT),
        template=source(ROOT / "pipelines/report.html.jinja"),
        frame=source(ROOT / "src/sandglass/results/pages/base.html.jinja"),
        modules=rooms("experiment", "results", "results/pages", "studies", "papers"),
    output:
        "results/{paper}/report.html",
        "results/{paper}/sentences.csv",
        "results/{paper}/published.csv",
    log:
        "results/logs/{paper}/report.log",
    message:
        "Report of {wildcards.paper}: {output}"
    shell:
        STEP + "report {wildcards.paper}"


rule index:
    input:
        lambda wildcards: expand(rules.collect.output, paper=PAPERS),
        about=[source(home / shelf.ABOUT) for home in PAPERS.values()],
        template=source(ROOT / "pipelines/index.html.jinja"),
        frame=source(ROOT / "src/sandglass/results/pages/base.html.jinja"),
        modules=rooms("results/pages", "studies", "papers"),
    output:
        "results/index.html",
    log:
        "results/logs/index.log",
    params:
        profile=PROFILE,
        papers=list(PAPERS),
    message:
        "The page over all papers: {output}"
    shell:
        'exec >{log:q} 2>&1; cd "$(dirname {output:q})"/.. && '
        "{PYTHON} -m sandglass.papers.steps index {params.profile} {params.papers}"
