"""The defaults of qdiscs that `list` tells are those that tc shows in the lab."""

import re
import shlex

import pytest
import yaml

from sandglass.experiment import kernel, mainline, qdiscs, units
from sandglass.suites import qdisc, suite
from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
SHOW = """
ip link add d0 type dummy && ip link set d0 up
for kind in {kinds}; do
    tc qdisc add dev d0 root $kind || exit 1
    tc -d qdisc show dev d0
    tc qdisc del dev d0 root
done
"""
TRY = """
ip link add d0 type dummy
try() { tc qdisc add dev d0 root "$@" 2>&1 && tc qdisc del dev d0 root || echo "$@"; }
"""
LINK = qdiscs.Link(rate_bps=20_000_000, rtt_ns=100_000_000, packet_bytes=1514)
TOLD_BY_TC = {
    kind: options
    for kind, options in mainline.DEFAULTS.items()
    if "needed" not in options.values() and kind != "cake"
}
"""cake shows some options as single words."""
NEWER = [kind for kind in TOLD_BY_TC if kernel.least(kind)]
USUAL = [kind for kind in TOLD_BY_TC if kind not in NEWER]
FORMULAS = {"2 * mtu * limit": 2 * 1514 * 10000}
"""Of defaults that follow from others, with the Ethernet header that the device's MTU lacks."""
UNITS = {"Kb": 2**10, "Mb": 2**20, "Kbit": 10**3}


def number(text: str) -> float | str:
    """A value in base units, as tc writes it or as an experiment does."""
    if text in FORMULAS:
        return FORMULAS[text]
    found = re.fullmatch(r"([\d.]+(?:e-\d+)?)(\D*)", text)
    if not found:
        return text
    unit = found[2]
    if unit in units.TIMES:
        return float(found[1]) * units.TIMES[unit]
    scale = UNITS.get(unit) or units.SIZES.get(unit) or units.RATES.get(unit) or 1
    return float(found[1]) * scale


def test_defaults(sandglass: Cli) -> None:
    assert_shown(USUAL, sandglass)


@pytest.mark.newer
def test_defaults_of_what_newer_kernels_have(sandglass: Cli, newer_kernel: str) -> None:
    assert {kernel.least(kind) for kind in NEWER} == {newer_kernel}
    assert_shown(NEWER, sandglass)


@pytest.mark.newer
def test_tc_takes_what_a_suite_halves_and_doubles(sandglass: Cli, newer_kernel: str) -> None:
    own = suite.read(suite.SUITES / "qdisc")
    tries = [
        shlex.join(["try", kind, *qdiscs.tc_words(kind, {option: yaml.safe_load(value)}, LINK)])
        for kind in TOLD_BY_TC
        if not own.options(kind)
        for option, values in qdisc.tuned(kind).items()
        for value in values
    ]
    assert len(tries) > 30
    done = sandglass("exec", "sh", "-c", TRY + "\n".join(tries))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def assert_shown(kinds: list[str], sandglass: Cli) -> None:
    script = SHOW.format(kinds=" ".join(kinds))
    done = sandglass("exec", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    shown = [line.split() for line in done.stdout.splitlines() if line.startswith("qdisc")]
    assert [words[1] for words in shown] == kinds
    for words in shown:
        for option, told in TOLD_BY_TC[words[1]].items():
            if told in ("yes", "no"):
                assert (option in words) == (told == "yes"), (words[1], option)
                continue
            value = words[words.index(option) + 1]
            ours = number(told)
            theirs = number(value)
            if isinstance(ours, str) or isinstance(theirs, str):
                assert ours == theirs, (words[1], option)
            elif words[1] == "sfb" and option in ("rehash", "db"):
                assert theirs == ours * 1e9  # seconds
            else:
                assert theirs == pytest.approx(ours, rel=0.1), (words[1], option)
