# From experiment files to figures with verdicts. By itself:
#
#     snakemake --cores 2 results/abe/fig03.svg           one figure
#     snakemake --cores 2 abe --config profile=paper      a paper, its full grids
#
# docs/pipeline.md says what stands where. Every grid point is a run of its own, shared by the
# figures and profiles that contain it.

import functools
import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")

from sandglass.install import builds
from sandglass.papers import grid


configfile: ROOT / "pipelines/config.yaml"


include: "pipelines/rules.smk"


rule all:
    default_target: True
    input:
        [f"results/{paper}/report.html" for paper in PAPERS],
    message:
        "All papers are reproduced"


include: "pipelines/abe/rules.smk"
include: "pipelines/dctcp_internet/rules.smk"
include: "pipelines/flow_startup/rules.smk"
include: "pipelines/ls_aimd/rules.smk"
