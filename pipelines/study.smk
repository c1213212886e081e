# One study, in its own directory: runs in batches, tables, pictures, the page. ./sandglass study
# says in logs/work.json what there is to run, and starts this.

import json
import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir).parent
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")

from sandglass.studies import reading, targets, work

STUDY = reading.resolved(Path(targets.STUDY))
WORK = json.loads(work.FILE.read_text())
RUNS = [run["directory"] for run in WORK["runs"]]
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


# A process for each run would cost as much as a short run does.
for number, batch in enumerate(WORK["batches"]):

    rule:
        name:
            f"batch_{number}"
        output:
            [directory(run) for run in batch],
        log:
            f"logs/batch_{number}.log",
        priority: len(batch)
        resources:
            mem_mb=STUDY.memory_mb,
            runtime=10 + 5 * len(batch),  # minutes; the watchdog ends a lab that hangs after 5
        params:
            number=number,
        message:
            f"{len(batch)} runs from {batch[0]} on"
        shell:
            STEP + "batch {params.number} >{log:q} 2>&1"


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
