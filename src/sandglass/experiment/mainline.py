"""Linux's own qdiscs and congestion controls, each in a sentence, and the qdiscs' defaults."""

QDISCS = {
    "bfifo": "Drop-tail: first in, first out, up to a number of bytes",
    "cake": "CAKE: shaper, fair queueing by host and flow, and CoDel's successor COBALT, in one",
    "choke": "CHOKe: RED that drops also a random packet of the queue when it is of the same flow",
    "codel": "CoDel (RFC 8289): drops or marks when packets have waited too long for an interval",
    "dualpi2": "DualPI2 (RFC 9332): two coupled queues for L4S; runs in the lab of Linux 7.2",
    "fq": "Fair queueing with pacing, as hosts use it",
    "fq_codel": "FQ-CoDel (RFC 8290): a queue with CoDel for each flow, served in turn",
    "fq_pie": "FQ-PIE: a queue with PIE for each flow, served in turn",
    "hhf": "Heavy-hitter filter: flows that send much wait behind the others",
    "netem": "Network emulator: delay, loss, duplication and reordering at random",
    "pfifo": "Drop-tail: first in, first out, up to a number of packets",
    "pfifo_fast": "Drop-tail in three bands by priority, as interfaces have it by default",
    "pfifo_head_drop": "First in, first out, which drops at the head when it is full",
    "pie": "PIE (RFC 8033): drops or marks at random, controlled by the delay of the queue",
    "red": "RED: drops or marks at random, by the average length of the queue",
    "sfb": "Stochastic Fair Blue: drops or marks flows that do not respond",
    "sfq": "Stochastic fairness queueing: flows by a hash, served in turn",
    "skbprio": "Strict priority by the packet's priority; drops the lowest when full",
}
CONGESTION_CONTROLS = {
    "bbr": "BBR, version 1: paces at the bottleneck's rate, which it estimates",
    "bic": "BIC: binary search for the window, before CUBIC",
    "cdg": "CDG: backs off by the gradient of the delay",
    "cubic": "CUBIC (RFC 9438): Linux's default, grows by time since the last loss",
    "dctcp": "DCTCP (RFC 8257): backs off by the share of marked packets; for data centres",
    "highspeed": "HighSpeed TCP (RFC 3649): grows faster at large windows",
    "htcp": "H-TCP: grows faster with the time since the last loss",
    "hybla": "Hybla: makes up for long round trips, as of satellites",
    "illinois": "Illinois: Reno whose steps depend on the delay",
    "lp": "TCP-LP: takes only what others leave",
    "nv": "New Vegas: keeps the queue short, by delay",
    "reno": "NewReno (RFC 5681, 6582): one packet more each round trip, half after a loss",
    "scalable": "Scalable TCP: grows and backs off by fixed shares",
    "vegas": "Vegas: keeps a few packets in the queue, by delay",
    "veno": "Veno: Reno that tells random losses from congestion",
    "westwood": "Westwood+: backs off to the rate that it measures",
    "yeah": "YeAH: fast until it sees a queue, then Reno",
}
DEFAULTS: dict[str, dict[str, str]] = {
    "bfifo": {"limit": "1514000"},
    "cake": {
        **{"bandwidth": "unlimited", "diffserv3": "yes", "triple-isolate": "yes", "nat": "no"},
        **{"wash": "no", "ack-filter": "no", "split-gso": "yes", "rtt": "100ms", "overhead": "0"},
    },
    "choke": {"limit": "needed", "min": "83p", "max": "250p", "bandwidth": "needed"},
    "codel": {"limit": "1000p", "target": "5ms", "interval": "100ms", "ecn": "no"},
    "dualpi2": {
        **{"limit": "10000p", "memlimit": "2 * mtu * limit", "target": "15ms", "tupdate": "16ms"},
        **{"alpha": "0.16", "beta": "3.2", "step_thresh": "1ms", "min_qlen_step": "0p"},
        **{"coupling_factor": "2", "classic_protection": "10%", "drop_on_overload": "yes"},
        **{"drop_dequeue": "yes", "l4s_ect": "yes", "split_gso": "yes"},
    },
    "fq": {
        **{"limit": "10000p", "flow_limit": "100p", "buckets": "1024", "orphan_mask": "1023"},
        **{"quantum": "3028", "initial_quantum": "15140", "low_rate_threshold": "550kbit"},
        **{"refill_delay": "40ms", "timer_slack": "10us", "horizon": "10s", "horizon_drop": "yes"},
    },
    "fq_codel": {
        **{"limit": "10240p", "flows": "1024", "quantum": "1514", "target": "5ms"},
        **{"interval": "100ms", "memory_limit": "32MiB", "ecn": "yes", "drop_batch": "64"},
    },
    "fq_pie": {
        **{"limit": "10240p", "flows": "1024", "target": "15ms", "tupdate": "15ms", "alpha": "2"},
        **{"beta": "20", "quantum": "1514", "memory_limit": "32MiB", "ecn_prob": "10"},
        **{"ecn": "no", "bytemode": "no", "dq_rate_estimator": "no"},
    },
    "hhf": {
        **{"limit": "1000p", "quantum": "1514", "hh_limit": "2048", "reset_timeout": "40ms"},
        **{"admit_bytes": "128KiB", "evict_timeout": "1s", "non_hh_weight": "2"},
    },
    "netem": {"limit": "1000p"},
    "pfifo": {"limit": "1000p"},
    "pfifo_head_drop": {"limit": "1000p"},
    "pie": {
        **{"limit": "1000p", "target": "15ms", "tupdate": "15ms", "alpha": "2", "beta": "20"},
        **{"ecn": "no", "bytemode": "no", "dq_rate_estimator": "no"},
    },
    "red": {
        **{"limit": "needed", "avpkt": "needed", "min": "limit/12", "max": "limit/4"},
        **{"probability": "0.02", "bandwidth": "10mbit", "ecn": "no", "adaptive": "no"},
    },
    "sfb": {
        **{"limit": "1000p", "rehash": "600", "db": "60", "max": "25p", "target": "20p"},
        **{"increment": "0.0005", "decrement": "0.00005"},
        **{"penalty_rate": "10", "penalty_burst": "20p"},
    },
    "sfq": {
        **{"limit": "127p", "quantum": "1514", "depth": "127p", "flows": "128", "divisor": "1024"},
        **{"ecn": "no", "headdrop": "no"},
    },
    "skbprio": {"limit": "64p"},
}
"""By kinds and options, as tc 6.1 shows them on Linux 6.12; `needed` where there is none.

Those of dualpi2 are as its source of Linux 7.2 has them.
"""
