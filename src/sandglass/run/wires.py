"""The wires of a plan: what each link does to packets between its two ends."""

import itertools

from sandglass.agent import paths, plan
from sandglass.experiment.bottleneck import Bottleneck
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.link import NOTHING, Bursts, Direction, Link, Step
from sandglass.experiment.trace import TracedRate
from sandglass.experiment.values import percent


def of(
    experiment: Experiment, bottlenecks: dict[str, Bottleneck], shaped: dict[str, Link]
) -> dict[str, plan.Wire]:
    """By names; needed as soon as there is more than one bottleneck between two routers.

    Noise is added on wires, which all hosts' links are then.
    """
    facts = experiment.facts
    ends = {end for pair in facts.bottleneck_ends.values() for end in pair}
    traced = any(
        isinstance(rate, TracedRate) for each in bottlenecks.values() for rate in each.rates
    )
    needed = shaped or len(bottlenecks) > 1 or not ends.isdisjoint(facts.hosts)
    noisy = experiment.noise is not None and not experiment.noise.is_silent
    if not (needed or traced or noisy):
        return {}
    wires: dict[str, plan.Wire] = {
        name: {
            "forward": _way(NOTHING, bottleneck.rate),
            "reverse": _way(NOTHING, bottleneck.reverse_rate),
            "schedule": [],
        }
        for name, bottleneck in bottlenecks.items()
    }
    if noisy:
        for name, link in facts.links.items():
            if not set(link.ends).isdisjoint(facts.hosts):
                # A host's card transmits at its rate what comes to it; on the way out it shapes.
                cards = [
                    experiment.hosts[end].access_rate if end in experiment.hosts else None
                    for end in link.ends
                ]
                wires[name] = {
                    "forward": _way(NOTHING, cards[1]),
                    "reverse": _way(NOTHING, cards[0]),
                    "schedule": [],
                }
    for name, link in shaped.items():
        wires[name] = {
            "forward": _way(link.forward, link.forward.rate),
            "reverse": _way(link.backward, link.backward.rate),
            "schedule": [
                {
                    "at_ns": step.at,
                    "forward": _way(step.forward, step.forward.rate),
                    "reverse": _way(step.backward, step.backward.rate),
                }
                for before, step in itertools.pairwise(link.states)
                if _but_rates(before) != _but_rates(step)
            ],
        }
    return wires


def longest_ns(experiment: Experiment, shaped: dict[str, Link]) -> int:
    """The most that the delays of links add to a flow's round trip, there and back."""
    delays = {
        link.ends: max(
            (step.forward.delay or 0) + (step.backward.delay or 0) for step in link.states
        )
        for link in shaped.values()
    }
    if not any(delays.values()):
        return 0
    ends = [link.ends for link in experiment.facts.links.values()]
    ends += experiment.facts.bottleneck_ends.values()
    graph = paths.neighbours(ends)
    found = (paths.shortest(graph, flow.src, flow.dst) for flow in experiment.flows)
    return max(
        sum(delays.get((one, two), 0) + delays.get((two, one), 0) for one, two in path)
        for path in found
    )


def _but_rates(step: Step) -> list[Direction]:
    return [way.model_copy(update={"rate": None}) for way in (step.forward, step.backward)]


def _way(direction: Direction, rate_bps: int | None) -> plan.Way:
    impairments = []
    if isinstance(direction.loss, Bursts):
        lost = direction.loss
        shares = (lost.to_bad, lost.to_good, lost.in_bad, lost.in_good)
        impairments += ["loss", "gemodel", *map(percent, shares)]
    elif direction.loss:
        impairments += ["loss", "random", percent(direction.loss)]
    if direction.duplicate:
        impairments += ["duplicate", percent(direction.duplicate)]
    if direction.reorder:
        impairments += ["reorder", percent(direction.reorder)]
    return {
        # A trace sends whole packets: their transmission is over when they leave the queue.
        "rate_bps": None if isinstance(rate_bps, TracedRate) else rate_bps,
        "delay_ns": direction.delay or 0,
        "jitter_ns": direction.jitter or 0,
        "impairments": impairments,
    }
