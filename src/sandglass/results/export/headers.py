"""The headers of frames, as bytes: Ethernet, IPv4 or IPv6, and TCP or UDP."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.agent import ipv6
from sandglass.results.export.capture import ETHERNET_HEADER, TCP, UDP

Bytes = npt.NDArray[np.uint8]
Address = dict[int, Bytes]
"""Of a host, by the version of IP."""

ETHERNET = [("to", "u1", 6), ("from", "u1", 6), ("type", ">u2")]
IP = {
    # RFC 791, section 3.1, and RFC 8200, section 3
    4: [
        *[("version", "u1"), ("class", "u1"), ("length", ">u2"), ("id", ">u2")],
        *[("fragment", ">u2"), ("hops", "u1"), ("protocol", "u1"), ("checksum", ">u2")],
        *[("src", "u1", 4), ("dst", "u1", 4)],
    ],
    6: [
        *[("class", ">u4"), ("length", ">u2"), ("protocol", "u1"), ("hops", "u1")],
        *[("src", "u1", 16), ("dst", "u1", 16)],
    ],
}
# RFC 9293, section 3.1, with all the options that it may have, and RFC 768
SEGMENT = [
    *[("sport", ">u2"), ("dport", ">u2"), ("seq", ">u4"), ("ack", ">u4"), ("offset", "u1")],
    *[("flags", "u1"), ("window", ">u2"), ("l4_checksum", ">u2"), ("urgent", ">u2")],
    ("options", "u1", 40),
]
DATAGRAM = [("sport", ">u2"), ("dport", ">u2"), ("l4_length", ">u2"), ("l4_checksum", ">u2")]
IP_HEADER = {0: 0, 4: 20, 6: 40}
ETHERNET_TYPE = {4: 0x0800, 6: 0x86DD}
NOT_IP = 0x88B5  # for local experiments, IEEE 802
WIDTH = 116
"""Bytes of the longest headers, a multiple of 4: 14, 40 and 60 of Ethernet, IPv6 and TCP."""
HOPS, DONT_FRAGMENT, WINDOW = 64, 0x4000, 0xFFFF


def addresses(hosts: Mapping[str, Mapping[str, str]]) -> dict[str, Address]:
    """Of each host its addresses, from `observed.hosts` of run.json."""
    return {
        name: {
            4: np.frombuffer(IPv4Address(host["address"]).packed, np.uint8),
            6: np.frombuffer(IPv6Address(ipv6.address(host["address"])).packed, np.uint8),
        }
        for name, host in hosts.items()
    }


def build(
    frames: pl.DataFrame, known: Mapping[str, Address]
) -> tuple[Bytes, npt.NDArray[np.int64]]:
    """The bytes of each frame's headers, as far as they are known, and how many these are.

    Takes what capture.frames gives. Shape: WIDTH bytes for each frame, zeros after its headers.
    Where headers were recorded, they are these, with the frame's ECN field. Else the checksum of
    TCP or UDP is that of a payload of zeros.
    """
    if frames["header"].null_count() == 0:
        return _recorded(frames, known)
    matrix = np.zeros((len(frames), WIDTH), np.uint8)
    lengths = np.zeros(len(frames), np.int64)
    family = frames["family"].to_numpy()
    ports = frames["sport"].to_numpy() > 0
    protocol = np.where(ports, frames["protocol"].to_numpy(), 0)
    for version in (0, 4, 6):
        for carried, layout in ((TCP, SEGMENT), (UDP, DATAGRAM), (0, [])):
            chosen = (family == version) & (
                (protocol == carried) if carried else ~np.isin(protocol, (TCP, UDP))
            )
            if not chosen.any():
                continue
            whole = np.zeros(chosen.sum(), ETHERNET + IP.get(version, []) + layout)
            length = _fill(whole, frames.filter(pl.Series(chosen)), version, carried, known)
            octets = whole.view(np.uint8).reshape(len(whole), -1)
            matrix[np.nonzero(chosen)[0], : octets.shape[1]] = octets
            lengths[chosen] = length
    return matrix, lengths


def _recorded(
    frames: pl.DataFrame, known: Mapping[str, Address]
) -> tuple[Bytes, npt.NDArray[np.int64]]:
    matrix = np.zeros((len(frames), WIDTH), np.uint8)
    lengths = frames["header"].bin.size().cast(pl.Int64).to_numpy()
    ip = matrix[:, ETHERNET_HEADER:]
    octets = b"".join(frames["header"].to_list())
    ip[np.arange(ip.shape[1]) < lengths[:, None]] = np.frombuffer(octets, np.uint8)
    family, ecn = frames["family"].to_numpy(), frames["ecn"].to_numpy()
    four, six = family == 4, family == 6
    ip[four, 1] = ip[four, 1] & 0xFC | ecn[four]
    ip[six, 1] = ip[six, 1] & 0xCF | ecn[six] << 4
    # Of packets with options too, whose headers are longer: words after a header are left out.
    ip[four, 10:12] = 0
    within = np.arange(60) < (ip[:, :1] & 0xF) * 4
    words = np.where(within, ip[:, :60], 0)[four].astype(np.int64)
    checksum = _checksum(words[:, 0::2].sum(axis=1) * 256 + words[:, 1::2].sum(axis=1))
    ip[four, 10:12] = np.column_stack([checksum >> 8, checksum & 0xFF])
    head = np.zeros(len(frames), ETHERNET)
    _name_ends(head, frames, known)
    kinds = np.array([ETHERNET_TYPE.get(version, NOT_IP) for version in range(7)])
    head["type"] = kinds[family]
    matrix[:, :ETHERNET_HEADER] = head.view(np.uint8).reshape(len(head), -1)
    return matrix, ETHERNET_HEADER + lengths


def _name_ends(
    whole: npt.NDArray[np.void], frames: pl.DataFrame, known: Mapping[str, Address]
) -> None:
    """No hardware address is recorded: this one names the host, and is locally administered."""
    hosts = frames["src"].is_not_null().to_numpy()
    for way, end in (("src", "from"), ("dst", "to")):
        whole[end][:, 0] = np.where(hosts, 2, 0)
        whole[end][:, 2:] = _of_hosts(frames[way], known, 4)


def _fill(
    whole: npt.NDArray[np.void],
    frames: pl.DataFrame,
    version: int,
    carried: int,
    known: Mapping[str, Address],
) -> npt.NDArray[np.int64]:
    """Fill in the headers of frames that have the same ones; returns their lengths."""
    size = frames["size_bytes"].cast(pl.Int64).to_numpy()
    payload = frames["payload_bytes"].cast(pl.Int64).to_numpy()
    begin = 14 + IP_HEADER[version]
    whole["type"] = ETHERNET_TYPE.get(version, NOT_IP)
    if version == 0:
        return np.full(len(whole), 14)
    _name_ends(whole, frames, known)
    for way in ("src", "dst"):
        whole[way] = _of_hosts(frames[way], known, version)
    whole["protocol"] = frames["protocol"].to_numpy()
    whole["hops"] = HOPS
    ecn = frames["ecn"].to_numpy()
    if version == 4:
        whole["version"] = 0x45
        whole["class"] = ecn
        whole["length"] = size - 14
        if carried == TCP:
            whole["fragment"] = DONT_FRAGMENT
        else:
            whole["id"] = frames["seq"].to_numpy()
        whole["checksum"] = _checksum(_words(whole, 14, 34))
    else:
        whole["class"] = (6 << 28) | (ecn.astype(np.uint32) << 20)
        whole["length"] = size - 54
    if not carried:
        return np.full(len(whole), begin)
    whole["sport"] = frames["sport"].to_numpy()
    whole["dport"] = frames["dport"].to_numpy()
    if carried == UDP:
        whole["l4_length"] = payload + 8
        header = np.full(len(whole), 8)
    else:
        header = size - payload - begin
        whole["seq"] = frames["seq"].to_numpy()
        whole["ack"] = frames["ack"].fill_null(0).to_numpy()
        # Options are not recorded: their place begins with the end of their list, 0.
        whole["offset"] = (header // 4) << 4
        whole["flags"] = frames["flags"].to_numpy()
        whole["window"] = WINDOW
    address = (26, 34) if version == 4 else (22, 54)
    pseudo = _words(whole, *address) + carried + header + payload
    checksum = _checksum(pseudo + _words(whole, begin, whole.dtype.itemsize))
    whole["l4_checksum"] = np.where(checksum, checksum, 0xFFFF) if carried == UDP else checksum
    return begin + header


def _of_hosts(names: pl.Series, known: Mapping[str, Address], version: int) -> Bytes:
    """The address of each host; zeros where no host has it."""
    width = 4 if version == 4 else 16
    table = np.zeros((len(known) + 1, width), np.uint8)
    for number, address in enumerate(known.values()):
        table[number] = address[version]
    numbers = names.cast(pl.String).replace_strict(
        list(known), list(range(len(known))), default=len(known), return_dtype=pl.UInt32
    )
    chosen: Bytes = table[numbers.to_numpy()]
    return chosen


def _words(whole: npt.NDArray[np.void], begin: int, end: int) -> npt.NDArray[np.int64]:
    """The sum of the 16-bit words between two bytes of each."""
    octets = whole.view(np.uint8).reshape(len(whole), -1)[:, begin:end].astype(np.int64)
    total: npt.NDArray[np.int64] = octets[:, 0::2].sum(axis=1) * 256 + octets[:, 1::2].sum(axis=1)
    return total


def _checksum(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of the sum of all words (RFC 1071)."""
    while (words >> 16).any():
        words = (words & 0xFFFF) + (words >> 16)
    return ~words & 0xFFFF
