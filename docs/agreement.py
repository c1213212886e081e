"""Draws agreement.svg, beside this file, and prints the tables of agreement.md.

Usage: python docs/agreement.py, in Sandglass's environment.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_line, ggplot, labs, scale_color_manual

import sandglass
from sandglass.papers import formulas
from sandglass.results import style

HERE = Path(__file__).parent
PACKET, ACK, PAYLOAD = 1514, 66, 1472  # bytes: of a full packet, an ACK, a full datagram
BETA = 717 / 1024  # CUBIC's 0.7, as Linux has it
APART_S = 1.0  # losses closer than this belong to one congestion event
SLOW_START = 2  # congestion events at the beginning that may belong to slow start


def run(flow: dict[str, Any], queue: dict[str, Any], **keys: Any) -> sandglass.Run:
    """One flow over the dumbbell."""
    bottleneck = {"rate": keys.pop("rate", "10mbit"), "queue": queue}
    experiment = {"title": "agreement", "topology": "dumbbell", "bottleneck": bottleneck}
    flows = [{"from": "s1", "to": "d1", **flow}]
    return sandglass.run({**experiment, "rtt": "100ms", "flows": flows, **keys}, cached=True)


def forward(done: sandglass.Run) -> pl.DataFrame:
    """The packets of the flow at the bottleneck."""
    return done.packets.filter(direction="forward", flow=1)


def off(lab: float, law: float) -> str:
    return f"{lab:.4g} | {law:.4g} | {100 * (lab / law - 1):+.1f} %"


def datagrams(mbit: float) -> dict[str, Any]:
    """A stream of full packets at a rate that counts what the shaper counts."""
    return {"workload": "udp", "rate": f"{round(mbit * 1e6 * PAYLOAD / PACKET)}bit"}


def reno() -> Iterator[str]:
    """Utilisation and mean queue of Reno's saw-tooth through DropTail."""
    cases = [*((b, True) for b in (0.1, 0.25, 0.5, 1.0, 2.0)), (0.1, False)]
    path = formulas.path_packets(10e6, 0.1, PACKET, ACK)
    for b, delayed in cases:
        limit = round(b * 10e6 * 0.1 / 8 / PACKET)
        done = run(
            {"workload": "bulk", "cc": "reno"},
            {"kind": "pfifo", "limit": limit},
            duration="200s",
            record=["packets"],
            hosts={"d1": {"delayed_ack": delayed}},
        )
        packets = forward(done)
        lost = packets["drop_ns"].drop_nulls().sort() / 1e9
        events = lost.filter(lost.diff().fill_null(np.inf) > APART_S)[SLOW_START:]
        started = pl.col("dequeue_ns").is_between(events[0] * 1e9, events[-1] * 1e9, closed="left")
        teeth = packets.filter(started)
        used = teeth["size_bytes"].sum() * 8 / 10e6 / (events[-1] - events[0])
        queue = teeth["sojourn_ns"].mean() / 1e6
        law = formulas.mean_queue(0.5, limit, path) * PACKET * 8e-4
        yield (
            f"| {b:g} | {'yes' if delayed else 'no'} | {len(events) - 1} "
            f"| {off(used, formulas.utilisation(0.5, limit, path))} | {off(queue, law)} |"
        )


def cubic() -> tuple[list[str], pl.DataFrame]:
    """CUBIC's window after each loss, and the law's."""
    done = run(
        {"workload": "bulk", "cc": "cubic"},
        {"kind": "pfifo", "limit": "1bdp"},
        rate="100mbit",
        duration="80s",
        record=["acks"],
    )
    acks = done.acks.with_columns(tooth=(pl.col("ca_state") == "Open").rle_id())
    open_ = acks.filter(pl.col("ca_state") == "Open")
    rows, drawn, before = [], [], 0.0
    for tooth in open_.partition_by("tooth", maintain_order=True)[1:-1]:
        after = tooth["ssthresh_packets"][0]
        reached = after / BETA
        largest = reached if reached >= before else reached * (1 + BETA) / 2
        before = largest
        times = ((tooth["time_ns"] - tooth["time_ns"][0]) / 1e9).to_numpy()
        law = np.array([formulas.cubic_window(t, largest, after) for t in times])
        apart = 100 * (tooth["cwnd_packets"].to_numpy() / law - 1)
        length = f"{times[-1]:.2f} s"
        said = f"{apart.mean():+.2f} % | {apart.min():+.2f} to {apart.max():+.2f} %"
        rows.append(f"| {length} | {after} | {largest:.0f} | {said} |")
        for who, window in (("lab", tooth["cwnd_packets"].to_numpy()), ("RFC 9438", law)):
            table = {"time_s": times[::100], "window": window[::100].astype(float)}
            drawn.append(pl.DataFrame(table).with_columns(who=pl.lit(who), tooth=len(rows)))
    return rows, pl.concat(drawn)


def waits(arrivals: np.ndarray, service: float) -> np.ndarray:
    """Lindley's recursion: the wait of each of these arrivals."""
    walk = np.concatenate([[0], np.cumsum(service - np.diff(arrivals))])
    return walk - np.minimum.accumulate(walk)


def poisson() -> Iterator[str]:
    """The mean wait of Poisson arrivals of one size."""
    service = PACKET * 8e9 / 10e6
    for load in (0.3, 0.5):
        means, worst = [], 0.0
        for seed in (1, 2, 3):
            done = run(
                datagrams(10 * load) | {"pattern": "poisson"},
                {"kind": "pfifo", "limit": 100_000},
                rtt="10ms",
                duration="100s",
                record=["packets"],
                seed=seed,
            )
            packets = forward(done).drop_nulls("sojourn_ns").sort("enqueue_ns")
            sojourn = packets["sojourn_ns"].to_numpy()
            error = sojourn - waits(packets["enqueue_ns"].to_numpy(), service)
            means.append(sojourn.mean() / 1e6)
            worst = max(worst, float(np.abs(error).max()))
        law = formulas.waiting(load, service, service**2) / 1e6
        seeds = " ".join(f"{mean:.4g}" for mean in means)
        yield f"| {load} | {seeds} | {off(float(np.mean(means)), law)} | {worst:.0f} ns |"


def newton(drops: int) -> Iterator[float]:
    """1/sqrt(count) as Linux has it: one step of Newton's for each drop, in 16 bits."""
    root = 2**32 - 1
    for count in range(1, drops):
        if count > 1:
            step = (3 << 32) - count * ((root * root) >> 32)
            root = ((step >> 2) * root >> 31) & ~0xFFFF
        yield root / 2**32


def codel() -> Iterator[str]:
    """The times of CoDel's drops in its first dropping state."""
    for load in (1.05, 1.2):
        done = run(
            datagrams(10 * load),
            {"kind": "codel", "limit": 100_000},
            rtt="10ms",
            duration="60s",
            record=["packets", "queues"],
        )
        drops = forward(done)["drop_ns"].drop_nulls().to_numpy()
        queues = done.queues.filter(direction="forward")
        over = (pl.col("dropping") == 0) & (pl.col("time_ns") > drops[0])
        drops = drops[drops < queues.filter(over)["time_ns"].min()] / 1e6
        root = np.cumsum(100 / np.sqrt(np.arange(1, len(drops))))
        linux = np.cumsum([100 * value for value in newton(len(drops))])
        lab = drops[1:] - drops[0]
        residues = [
            f"{(lab - law).min():+.1f} to {(lab - law).max():+.1f} ms" for law in (root, linux)
        ]
        span = off(lab[-1] / 1e3, root[-1] / 1e3)
        yield f"| {load} | {len(drops)} | {span} | {' | '.join(residues)} |"


def pie() -> Iterator[str]:
    """What PIE drops and the delay that it holds."""
    for load in (1.05, 1.2, 1.5):
        done = run(
            datagrams(10 * load),
            {"kind": "pie", "limit": 100_000},
            rtt="10ms",
            duration="60s",
            record=["packets", "queues"],
        )
        settled = forward(done).filter(pl.col("enqueue_ns") > 20e9)
        share = float(settled["drop_ns"].is_not_null().mean())
        prob = done.queues.filter(pl.col("time_ns") > 20e9, direction="forward")["prob"].mean()
        delay = settled["sojourn_ns"].mean() / 1e6
        yield (
            f"| {load} | {off(100 * share, 100 * (1 - 1 / load))} | {off(delay, 15)} "
            f"| {100 * prob:.1f} % |"
        )


def main() -> None:
    rows, drawn = cubic()
    for name, lines in (
        ("reno", reno()),
        ("cubic", rows),
        ("codel", codel()),
        ("pie", pie()),
        ("poisson", poisson()),
    ):
        print(name)
        for line in itertools.chain(lines, [""]):
            print(line, flush=True)
    plot = (
        ggplot(drawn, aes("time_s", "window", color="who"))
        + geom_line(size=0.5)
        + facet_wrap("tooth", labeller=lambda number: f"tooth {number}")
        + scale_color_manual(style.PALETTE)
    )
    text = "100 Mb/s, 100 ms, DropTail of 1 BDP; time from the end of recovery"
    titled = style.finish(plot, "CUBIC's window after a loss, and RFC 9438's law", text)
    style.save(
        titled + labs(x="time (s)", y="congestion window (packets)", color=""), HERE / "agreement"
    )


if __name__ == "__main__":
    main()
