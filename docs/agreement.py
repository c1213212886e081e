"""Draws agreement.svg, beside this file, and prints the tables of agreement.md.

Usage: python docs/agreement.py, in Sandglass's environment. What stands beside ns-3 is drawn from
ns3.csv, beside real time from real_time.csv, made by bench/ns3/compare.py and bench/real_time.py.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_line, geom_point, ggplot, labs, scale_color_manual

import sandglass
from sandglass.install import builds
from sandglass.papers import formulas
from sandglass.results import style
from sandglass.studies import statistics

HERE = Path(__file__).parent
PACKET, ACK, PAYLOAD = 1514, 66, 1472  # bytes: of a full packet, an ACK, a full datagram
BETA = 717 / 1024  # CUBIC's 0.7, as Linux has it
APART_S = 1.0  # losses closer than this belong to one congestion event
CWR = 0x80  # of the flags of TCP's header
SLOW_START = 2  # congestion events at the beginning that may belong to slow start


def run(flows: list[dict[str, Any]], queue: dict[str, Any], **keys: Any) -> sandglass.Run:
    """Flows over the dumbbell."""
    bottleneck = {"rate": keys.pop("rate", "10mbit"), "queue": queue}
    experiment = {"title": "agreement", "topology": "dumbbell", "bottleneck": bottleneck}
    between = [{"from": "s1", "to": "d1", **flow} for flow in flows]
    return sandglass.run({**experiment, "rtt": "100ms", "flows": between, **keys}, cached=True)


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
            [{"workload": "bulk", "cc": "reno"}],
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


def phases() -> Iterator[str]:
    """What the growing window, the round trip until the loss is known, and Recovery add."""
    path = formulas.path_packets(10e6, 0.1, PACKET, ACK)
    even = {"pacing": True, "sysctls": {"net.ipv4.tcp_pacing_ca_ratio": 100}}
    cases = [*((b, False) for b in (0.1, 0.25, 0.5, 1.0)), (0.1, True), (0.25, True)]
    for b, paced in cases:
        limit = round(b * 10e6 * 0.1 / 8 / PACKET)
        done = run(
            [{"workload": "bulk", "cc": "reno"}],
            {"kind": "pfifo", "limit": limit},
            duration="200s",
            record=["packets", "acks"],
            hosts={"d1": {"delayed_ack": False}} | ({"s1": even} if paced else {}),
        )
        packets = forward(done)
        lost = packets["drop_ns"].drop_nulls().sort()
        events = lost.filter(lost.diff().fill_null(10**18) > APART_S * 1e9)[SLOW_START:]
        came = pl.col("enqueue_ns").is_between(events[0], events[-1], closed="left")
        # The state changes when the segment of the row has been taken in.
        changes = done.acks.filter(pl.col("ca_state") != pl.col("ca_state").shift())
        marks = pl.concat(
            [
                pl.DataFrame({"enqueue_ns": events}).with_columns(phase=pl.lit("unknown")),
                changes.filter(pl.col("ca_state").is_in(["Recovery", "Open"])).select(
                    enqueue_ns="time_ns", phase=pl.col("ca_state").cast(pl.String)
                ),
            ]
        ).sort("enqueue_ns")
        met = packets.filter(came).sort("enqueue_ns").join_asof(marks, on="enqueue_ns")
        adds = {
            phase: met.filter(phase=phase)["sojourn_ns"].sum() / 1e6 / met["sojourn_ns"].count()
            for phase in ("Open", "unknown", "Recovery")
        }
        law = formulas.mean_queue(0.5, limit, path) * PACKET * 8e-4
        yield (
            f"| {b:g} | {'yes' if paced else 'no'} | {off(sum(adds.values()), law)} "
            f"| {' | '.join(f'{value:.3f}' for value in adds.values())} |"
        )


def cubic() -> tuple[list[str], pl.DataFrame]:
    """CUBIC's window after each loss, and the law's."""
    done = run(
        [{"workload": "bulk", "cc": "cubic"}],
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


def dctcp() -> Iterator[str]:
    """The share of marked packets, and the least and largest window, through a step."""
    one_cut = {"alpha_bits": 20, "shift_g": 6, "alpha_per_ack": 0}
    settings = {f"net.ipv4.tcp_dctcp_inet.{key}": value for key, value in one_cut.items()}
    senders = (("dctcp", True, {}), ("dctcp", False, {}), ("dctcp_inet", False, settings))
    for rtt_ms in (50, 100, 200):
        step_ms = rtt_ms / 5
        window = (
            formulas.path_packets(10e6, rtt_ms / 1e3, PACKET, ACK) + 10e3 * step_ms / 8 / PACKET
        )
        alpha = formulas.dctcp_alpha(window)
        for cc, delayed, sysctls in senders:
            # CoDel's own marks cannot come: the delay never reaches its target.
            step = {"ce_threshold": f"{step_ms:g}ms", "target": "10s", "interval": "20s"}
            done = run(
                [{"workload": "bulk", "cc": cc, "ecn": True}],
                {"kind": "codel", "limit": 10_000, "ecn": True, **step},
                rtt=f"{rtt_ms}ms",
                duration="180s",
                record=["packets", "acks"],
                hosts={
                    "s1": {"sysctls": sysctls},
                    "d1": {"sysctls": sysctls, "delayed_ack": delayed},
                },
            )
            settled = forward(done).filter(pl.col("enqueue_ns") > 60e9)
            marked = float((settled["ecn_out"] == 3).mean())
            windows = done.acks.filter(pl.col("time_ns") > 60e9)["cwnd_packets"]
            yield (
                f"| {rtt_ms} ms | `{cc}` | {'yes' if delayed else 'no'} | {off(marked, alpha)} "
                f"| {windows.min()} to {windows.max()} "
                f"| {(1 - alpha / 2) * (window + 1):.1f} to {window + 1:.1f} |"
            )


def waits(arrivals: np.ndarray, took: np.ndarray) -> np.ndarray:
    """Lindley's recursion: the wait of each of these arrivals, which take so long to send."""
    walk = np.concatenate([[0], np.cumsum(took[:-1] - np.diff(arrivals))])
    return walk - np.minimum.accumulate(walk)


def poisson() -> Iterator[str]:
    """The mean wait of Poisson arrivals of one size, and of three."""
    for sizes, load in (((1472,), 0.3), ((1472,), 0.5), ((1472,), 0.7), ((100, 700, 1472), 0.5)):
        whole = [size + PACKET - PAYLOAD for size in sizes]
        service = np.array(whole) * 8e9 / 10e6
        each = load / service.sum() * 8e9  # bit/s for each byte: as many packets of each size
        flows = [
            {"workload": "udp", "pattern": "poisson"}
            | {"packet_size": size, "rate": f"{round(each * size)}bit"}
            for size in sizes
        ]
        means, worst = [], 0.0
        for seed in range(1, 6):
            done = run(
                flows,
                {"kind": "pfifo", "limit": 100_000},
                rtt="10ms",
                duration="100s",
                record=["packets"],
                seed=seed,
            )
            packets = done.packets.filter(direction="forward").drop_nulls("sojourn_ns")
            packets = packets.sort("enqueue_ns", maintain_order=True)
            sojourn = packets["sojourn_ns"].to_numpy()
            took = packets["size_bytes"].to_numpy() * 8e9 / 10e6
            error = sojourn - waits(packets["enqueue_ns"].to_numpy(), took)
            means.append(sojourn.mean() / 1e6)
            worst = max(worst, float(np.abs(error).max()))
        law = formulas.waiting(load, service.mean(), (service**2).mean()) / 1e6
        found = statistics.interval(means)
        yield (
            f"| {', '.join(str(size) for size in whole)} | {load} | {off(found.mean, law)} "
            f"| {found.low:.4f} to {found.high:.4f} | {worst:.0f} ns |"
        )


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
            [datagrams(10 * load)],
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
            [datagrams(10 * load)],
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


def back_offs() -> Iterator[str]:
    """CoDel's marks, and what Reno makes of them, after its first long growth."""
    for rtt_ms in (198, 200, 202):
        done = run(
            [{"workload": "bulk", "cc": "reno", "ecn": True}],
            {"kind": "codel", "limit": 1000, "ecn": True},
            rate="20mbit",
            rtt=f"{rtt_ms}ms",
            duration="60s",
            record=["packets", "headers", "acks"],
        )
        flags = pl.Series("flags", [header[33] for header in done.table("headers")["header"]])
        packets = done.packets.with_columns(flags).filter(direction="forward")
        marked = packets.filter(ecn_out=3).filter(pl.col("dequeue_ns") > 10e9)
        start = marked["dequeue_ns"].min()
        soon = pl.col("time_ns").is_between(start, start + 10**9)
        changed = pl.col("ssthresh_packets") != pl.col("ssthresh_packets").shift()
        cuts = done.acks.filter(changed & soon)
        reduced = packets.filter(pl.col("dequeue_ns") > start, (pl.col("flags") & CWR) > 0)
        marks = [f"{(at - start) / 1e6:.1f}" for at in marked["dequeue_ns"] if at < start + 10**9]
        halved = [
            f"{cwnd} to {after} at {(at - start) / 1e6:.1f}"
            for at, cwnd, after in cuts.select(
                "time_ns", "cwnd_packets", "ssthresh_packets"
            ).iter_rows()
        ]
        left = (reduced["dequeue_ns"][0] - start) / 1e6
        word = "marked" if reduced["ecn_out"][0] == 3 else "not marked"
        yield f"| {rtt_ms} ms | {', '.join(marks)} | {', '.join(halved)} | {left:.1f}, {word} |"


def beside_ns3() -> Iterator[str]:
    """What receivers got in the lab and in ns-3, Mb/s: single runs, and means of replicas."""
    shown = received().filter(pl.col("rtt_ms").is_in([10, 100, 200, 400]), seconds=90)
    shown = shown.sort("queue", "rtt_ms")
    for (queue, rtt, cc), rows in shown.group_by("queue", "rtt_ms", "cc", maintain_order=True):
        point = f"| {queue} | {rtt} ms | {cc} |"
        if rows.height == 1:
            yield f"{point} {off(*rows.select('lab', 'ns3').row(0))} |"
        else:
            found = [statistics.interval(rows[who]) for who in ("lab", "ns3")]
            each = " | ".join(f"{it.mean:.2f} | {it.low:.2f} to {it.high:.2f}" for it in found)
            yield f"{point} {each} |"


def without_the_start() -> Iterator[str]:
    """What receivers got from 200 to 400 s around an RTT of 400 ms, Mb/s."""
    late = received().filter(seconds=400).sort("queue", "rtt_ms")
    for queue, rtt, cc, lab, ns3 in late.select("queue", "rtt_ms", "cc", "lab", "ns3").rows():
        yield f"| {queue} | {rtt} ms | {cc} | {off(lab, ns3)} |"


def beside_real_time() -> Iterator[str]:
    """Goodput (Mb/s) and mean queueing delay (ms) of means in virtual and in real time."""
    table = pl.read_csv(builds.ROOT / "docs" / "real_time.csv")
    for (queue, cc), rows in table.group_by("queue", "cc", maintain_order=True):
        clocks = [rows.filter(clock=clock) for clock in ("virtual", "real")]
        cells = [f"{clocks[1].height}, {clocks[1].filter(pl.col('warnings') > 0).height}"]
        for value in ("goodput_mbit", "mean_ms"):
            virtual, real = (statistics.interval(rows[value]) for rows in clocks)
            cells += [
                f"{virtual.mean:.4g}",
                f"{real.mean:.4g} ({real.low:.4g} to {real.high:.4g})",
                f"{100 * (real.mean / virtual.mean - 1):+.1f} %",
            ]
        yield f"| {queue} | {cc} | {' | '.join(cells)} |"


def received() -> pl.DataFrame:
    rate = 8e-6 / (pl.col("seconds") - pl.col("since_s"))
    table = pl.read_csv(builds.ROOT / "docs" / "ns3.csv")
    return table.with_columns(lab=pl.col("lab_bytes") * rate, ns3=pl.col("ns3_bytes") * rate)


def main() -> None:
    rows, drawn = cubic()
    for name, lines in (
        ("reno", reno()),
        ("phases", phases()),
        ("cubic", rows),
        ("codel", codel()),
        ("pie", pie()),
        ("poisson", poisson()),
        ("dctcp", dctcp()),
        ("back-offs", back_offs()),
        ("beside ns-3", beside_ns3()),
        ("beside ns-3, late", without_the_start()),
        ("beside real time", beside_real_time()),
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
    sweep = received().filter(pl.col("rtt_ms").is_between(180, 220), queue="codel", cc="reno")
    rates = sweep.unpivot(["lab", "ns3"], index="rtt_ms", variable_name="who")
    plot = (
        ggplot(rates, aes("rtt_ms", "value", color="who"))
        + geom_line(size=0.5)
        + geom_point(size=1)
        + scale_color_manual(style.PALETTE)
    )
    text = "20 Mb/s, CoDel, ECN, one flow, 90 s"
    titled = style.finish(plot, "Reno through CoDel, in the lab and in ns-3", text)
    style.save(
        titled + labs(x="base RTT (ms)", y="goodput (Mb/s)", color=""), HERE / "agreement-ns3"
    )


if __name__ == "__main__":
    main()
