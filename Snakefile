# From experiment files to figures with verdicts. By itself:
#
#     snakemake --cores 2 results/abe/fig03.svg           one figure
#     snakemake --cores 2 abe --config profile=paper      a paper, its full grids
#
# docs/pipeline.md says what stands where. Papers are found by looking: in pipelines/, and those of
# $SANDGLASS_PAPERS. Every grid point is a run of its own, shared by the figures and profiles that
# contain it; a job does some.

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")

from sandglass.install import builds
from sandglass.papers import batches, grid, shelf, variants
from sandglass.studies import jobs


configfile: ROOT / "pipelines/config.yaml"


include: "pipelines/rules.smk"


rule all:
    default_target: True
    input:
        "results/index.html",
        [f"results/{paper}/report.html" for paper in PAPERS],
    message:
        "All papers are reproduced"


for name, home in PAPERS.items():

    # Its target by name, and what else it may need.
    rule:
        name:
            name
        input:
            outputs(name),
        params:
            title=shelf.paper(name).head.title,
        message:
            "{params.title}: reproduced in {input[0]}"

    if (home / shelf.RULES).is_file():

        include: str(home / shelf.RULES)
