"""Quantities: what is read, what is written, and what is said about the rest."""

import contextlib
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.experiment import units
from sandglass.experiment.units import QueueLength


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("20mbit", 20_000_000),
        ("1.5gbit", 1_500_000_000),
        ("100 kbit", 100_000),
        ("8bit", 8),
        ("0.001tbit", 1_000_000_000),
    ],
)
def test_rates(text: str, bits: int) -> None:
    assert units.parse_rate(text) == bits


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("100ms", 100_000_000),
        ("0s", 0),
        ("1.5s", 1_500_000_000),
        ("2min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("250us", 250_000),
        ("1ns", 1),
        (".5us", 500),
    ],
)
def test_times(text: str, ns: int) -> None:
    assert units.parse_time(text) == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("500kB", 500_000),
        ("2MB", 2_000_000),
        ("1GB", 10**9),
        ("1.5KiB", 1536),
        ("1MiB", 1_048_576),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (64, QueueLength(Decimal(64), "own")),
        ("64", QueueLength(Decimal(64), "own")),
        ("64p", QueueLength(Decimal(64), "packets")),
        ("100kB", QueueLength(Decimal(100_000), "bytes")),
        ("0B", QueueLength(Decimal(0), "bytes")),
        ("50ms", QueueLength(Decimal(50_000_000), "ns")),
        ("0.5bdp", QueueLength(Decimal("0.5"), "bdp")),
        ("1 bdp", QueueLength(Decimal(1), "bdp")),
    ],
)
def test_lengths(text: object, length: QueueLength) -> None:
    assert units.parse_length(text) == length


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (units.parse_rate, 20, "20 has no unit: write 20mbit"),
        (units.parse_rate, 2.5, "2.5 has no unit: write 2.5mbit"),
        (units.parse_rate, "20", "write 20mbit"),
        (units.parse_rate, "20mbps", "bits or bytes per second: write 20mbit"),
        (units.parse_rate, "0mbit", "too small: the smallest rate is 1bit"),
        (units.parse_rate, "-5mbit", "negative"),
        (units.parse_rate, "0.5bit", "not a whole number of bit"),
        (units.parse_rate, "20Mbit", "did you mean 'mbit'?"),
        (units.parse_rate, "20Mbps", "write 20mbit"),
        (units.parse_rate, "20mbits", "did you mean 'mbit'?"),
        (units.parse_rate, "fast", "such as 20mbit"),
        (units.parse_rate, "20Mb/s", "such as 20mbit"),
        (units.parse_rate, "9999999999tbit", "too large"),
        (units.parse_rate, True, "true is not a rate"),
        (units.parse_rate, None, "an empty value is not a rate"),
        (units.parse_time, 100, "100 has no unit: write 100s or 100ms"),
        (units.parse_time, "-1s", "negative: a time is 0 or more"),
        (units.parse_time, "1sec", "unknown unit 'sec'"),
        (units.parse_time, "10MS", "did you mean 'ms'?"),
        (units.parse_time, "0.5ns", "not a whole number of ns"),
        (units.parse_time, "1.0000000000000000000000000001s", "not a whole number of ns"),
        (units.parse_time, "1:30", "one of ns, us, ms, s, min, h"),
        (units.parse_time, ["1s"], "a list is not a time"),
        (units.parse_size, 1000, "1000 has no unit: write 1000B"),
        (units.parse_size, "1mb", "did you mean 'MB'?"),
        (units.parse_size, "0B", "too small"),
        (units.parse_length, -1, "negative"),
        (units.parse_length, "-1p", "negative"),
        (units.parse_length, 1.5, "not the length of a queue"),
        (units.parse_length, "1.5p", "not a whole number of packets"),
        (units.parse_length, "1.5", "not a whole number of packets"),
        (units.parse_length, "2bpd", "did you mean 'bdp'?"),
        (units.parse_length, "10mbit", "a share of BDP (0.5bdp)"),
        (units.parse_length, 10**40, "not the length of a queue"),
        (units.parse_length, 10**25, "too long"),
    ],
)
def test_what_is_not_accepted(parse: object, text: object, said: str) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match=re.escape(said)):
        parse(text)


whole = st.integers(0, units.LARGEST)


@given(st.integers(1, units.LARGEST))
def test_a_rate_survives_being_written(rate: int) -> None:
    assert units.parse_rate(units.format_rate(rate)) == rate


@given(whole)
def test_a_time_survives_being_written(ns: int) -> None:
    assert units.parse_time(units.format_time(ns)) == ns


@given(st.integers(1, units.LARGEST))
def test_a_size_survives_being_written(size: int) -> None:
    assert units.parse_size(units.format_size(size)) == size


lengths = st.one_of(
    st.builds(QueueLength, whole.map(Decimal), st.sampled_from(["own", "packets", "bytes", "ns"])),
    st.builds(
        QueueLength, st.decimals(0, 10**6, places=6, allow_nan=False), st.sampled_from(["bdp"])
    ),
)


@given(lengths)
def test_a_length_survives_being_written(length: QueueLength) -> None:
    assert units.parse_length(units.format_length(length)) == length


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()))
def test_anything_else_is_a_value_error(value: object) -> None:
    for parse in (units.parse_rate, units.parse_time, units.parse_size, units.parse_length):
        with contextlib.suppress(ValueError):
            assert parse(value) is not None


def test_formats_are_readable() -> None:
    assert units.format_rate(20_000_000) == "20mbit"
    assert units.format_rate(1_500) == "1.5kbit"
    assert units.format_time(100_000_000) == "100ms"
    assert units.format_time(90 * 10**9) == "90s"
    assert units.format_time(0) == "0s"
    assert units.format_size(500_000) == "500kB"
    assert units.format_length(units.parse_length("0.50bdp")) == "0.5bdp"


def test_bdp_by_hand() -> None:
    # 20 Mb/s * 100 ms = 2 Mbit = 250 kB; 250000 / 1514 = 165.1 full packets
    assert units.bdp_bytes(20_000_000, 100_000_000) == 250_000
    length = units.parse_length("1bdp")
    link = {"rate_bps": 20_000_000, "rtt_ns": 100_000_000, "packet_bytes": 1514}
    assert units.in_bytes(length, **link) == 250_000
    assert units.in_packets(length, **link) == 165
    # half of 10 Mb/s * 200 ms = 125 kB = 82.6 full packets, rounded up
    link = {"rate_bps": 10_000_000, "rtt_ns": 200_000_000, "packet_bytes": 1514}
    assert units.in_packets(units.parse_length("0.5bdp"), **link) == 83


def test_lengths_by_hand() -> None:
    link = {"rate_bps": 8_000_000, "rtt_ns": 10_000_000, "packet_bytes": 1000}
    assert units.in_packets(units.parse_length("50ms"), **link) == 50  # 1 MB/s * 50 ms = 50 kB
    assert units.in_bytes(units.parse_length("50ms"), **link) == 50_000
    assert units.in_packets(units.parse_length("2500B"), **link) == 3  # a half is rounded up
    assert units.in_packets(units.parse_length("1B"), **link) == 1  # never rounded to nothing
    assert units.in_packets(units.parse_length(7), **link) == 7
    assert units.in_bytes(units.parse_length(7), **link) == 7
    assert units.in_bytes(units.parse_length("7p"), **link) == 7000
