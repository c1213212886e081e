"""Prints the table of quic.md: each stack of examples/quic/ beside TCP CUBIC, through two queues.

Usage: python docs/quic.py [STACK]..., in Sandglass's environment. Runs stay in results/runs.
"""

import sys
from collections.abc import Iterator

import numpy as np
import polars as pl

from sandglass.experiment import kernel, reading
from sandglass.install import builds, setup_lab
from sandglass.results import series
from sandglass.run import runs

EXAMPLES = builds.ROOT / "examples" / "quic"
PATH = "path"
"""What the examples have in common is none of them."""
QUEUES = {
    "CoDel": "{kind: codel, limit: 1000}",
    "1 BDP": "{kind: pfifo, limit: 1bdp}",
}
CLIENT, TCP = 2, 3
FROM_S, TO_S = 7, 27
"""The rates are of this time, when slow start is over."""
HEADS = (
    *("stack", "queue", "QUIC, Mb/s", "CUBIC, Mb/s", "QUIC's share"),
    *("delay, ms: mean", "95 %", "QUIC packets dropped", "lost, says its log"),
)


def stacks() -> list[str]:
    """The names of the examples."""
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml") if path.stem != PATH)


def row(stack: str, queue: str) -> list[str]:
    """What a run of an example shows."""
    source = EXAMPLES / f"{stack}.yaml"
    experiment = reading.load(source, [f"bottleneck.queue={QUEUES[queue]}"])
    setup_lab.lab(kernel.wanted(experiment), experiment.packages)
    done = runs.run(experiment, source, force=True)
    run = series.load(done.path, {})
    packets = series.forward(run).filter(pl.col("flow").is_in([CLIENT, TCP])).collect()
    sent = packets.filter(pl.col("dequeue_ns").is_between(FROM_S * 10**9, TO_S * 10**9))
    waited = (sent["sojourn_ns"] / 1e6).to_numpy()
    bits = {
        flow: 8 * int(sent.filter(pl.col("flow") == flow)["size_bytes"].sum())
        for flow in (CLIENT, TCP)
    }
    told = series.sending(run.table("qlog"))
    dropped = packets.filter(pl.col("flow") == CLIENT)["drop_ns"].count()
    return [
        *(stack, queue),
        *(f"{each / (TO_S - FROM_S) / 1e6:.1f}" for each in bits.values()),
        f"{bits[CLIENT] / sum(bits.values()):.2f}",
        *(f"{waited.mean():.1f}", f"{np.quantile(waited, 0.95):.1f}"),
        *(str(dropped), str(told["lost_packets"].max())),
    ]


def table(names: list[str]) -> Iterator[str]:
    """The lines of the table."""
    yield f"| {' | '.join(HEADS)} |"
    yield f"|---|---|{'---:|' * (len(HEADS) - 2)}"
    for name in names:
        for queue in QUEUES:
            yield f"| {' | '.join(row(name, queue))} |"


if __name__ == "__main__":
    for line in table(sys.argv[1:] or stacks()):
        print(line, flush=True)
