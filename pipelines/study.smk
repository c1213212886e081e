# One study, in its own directory: runs in batches, tables, pictures, the page. ./sandglass study
# says in logs/runs.json and logs/jobs/ what there is to run, and starts this.

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir).parent
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")

from sandglass.studies import jobs, reading, targets, work

STUDY = reading.resolved(Path(targets.STUDY))
RUNS = [run.directory for run in work.tasks()]
TABLES = targets.tables(STUDY)
PAGE = targets.page(STUDY)
STEP = f"{sys.executable} -m sandglass.studies."


localrules:
    measure,
    conclude,
    publish,


rule all:
    default_target: True
    input:
        *TABLES,
        *PAGE,
    message:
        "The study is done"


rule runs:
    input:
        RUNS,
    message:
        "The runs are done"


for name, tasks in work.batches().items():

    rule:
        name:
            name
        output:
            [directory(run.directory) for run in tasks],
        log:
            f"logs/{name}.log",
        priority: len(tasks)
        resources:
            mem_mb=STUDY.memory_mb,
            runtime=jobs.minutes(tasks),
        params:
            tasks=work.JOBS / f"{name}.json",
        message:
            f"{len(tasks)} runs from {tasks[0].directory} on"
        shell:
            STEP + "batch {rule} measure <{params.tasks:q} >{log:q} 2>&1"


rule measure:
    input:
        RUNS,
    output:
        "runs.csv",
    log:
        "logs/measure.log",
    params:
        targets.measured(STUDY),
    message:
        "The table of the runs"
    shell:
        STEP + "tables measure >{log:q} 2>&1"


rule conclude:
    input:
        "runs.csv",
    output:
        TABLES[1:],
    log:
        "logs/conclude.log",
    params:
        targets.judged(STUDY),
    message:
        "Statistics and claims"
    shell:
        STEP + "tables conclude >{log:q} 2>&1"


rule publish:
    input:
        TABLES,
    output:
        PAGE,
    log:
        "logs/publish.log",
    params:
        targets.shown(STUDY),
    message:
        "Pictures and page"
    shell:
        STEP + "pictures >{log:q} 2>&1"
