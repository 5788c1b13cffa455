"""Many packets at once against each by itself: the everyday ones are read in place, and nothing comes out otherwise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IPOption_NOP
from scapy.packet import Packet as Scapy

from kdbg.capture import segments
from kdbg.capture.links import Fragment, dissector
from kdbg.capture.packet import Packet, Segment
from kdbg.capture.pcap import RawPacket
from kdbg.capture.source import Damaged, open_packets, open_source

from ..cases import by_day, for_each
from .files import CAPTURES, ROOT
from .test_links import LINK_LAYERS, SAMPLES, ip4, ip6, tcp

FILES = sorted(
    path for folder in (ROOT / "captures", CAPTURES) for path in folder.rglob("*.pcap*") if path.suffix != ".gz"
)
NETWORKS = [
    ip4() / tcp(), ip6() / tcp(), ip4(tos=8) / tcp(), ip6(tc=8, fl=5) / tcp(),
    ip4() / tcp(options=[("Timestamp", (1, 2))]),
    ip4(options=[IPOption_NOP()]) / tcp(), ip4(flags="MF") / tcp(), ip4(frag=3) / tcp(), ip4(len=0) / tcp(),
    ip4() / tcp(dataofs=3), ip4() / tcp(dataofs=15), ip4(len=30) / tcp(), ip4(proto=17) / tcp(), ip4(version=5) / tcp(),
    ip6(plen=0) / tcp(), ip6(nh=17) / tcp(), ip6(plen=12) / tcp(), ip6() / tcp(dataofs=4), ip6(version=7) / tcp(),
]  # fmt: skip
"""Two everyday packets, and many that are nearly such."""
ON_LINK = {
    link: [bytes(network if layer is None else layer / network) for network in NETWORKS]
    for link, layer in LINK_LAYERS.values()
}


def at_once(data: bytes, packets: list[RawPacket], time: int = 0) -> tuple[list[Packet], int, int]:
    return segments(data, packets, 7, time, lambda link, data, time: segment_of(link, data))


def segment_of(link: int, data: bytes) -> Segment | None:
    """What is in a packet that is not sent in pieces."""
    found = dissector(link)(data)
    return None if isinstance(found, Fragment) else found


def each(data: bytes, packets: list[RawPacket], time: int = 0) -> tuple[list[Packet], int, int]:
    found = list[Packet]()
    for number, (moment, link, start, end) in enumerate(packets, 8):
        time = moment if moment is not None else time
        if segment := segment_of(link, data[start:end]):
            found.append((number, time, *segment))
    return found, sum(end - start for _, _, start, end in packets), time


def placed(link: int, packets: list[bytes]) -> tuple[bytes, list[RawPacket]]:
    """The packets one behind the other."""
    places, place = list[RawPacket](), 0
    for time, packet in enumerate(packets):
        places.append((time * 1000 if time % 3 else None, link, place, place + len(packet)))
        place += len(packet)
    return b"".join(packets), places


@pytest.mark.parametrize("path", by_day(FILES, 2), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_in_every_capture(path: Path) -> None:
    source = open_source(path)
    try:
        for data, packets in open_packets(source, lambda problem: None):
            assert at_once(data, packets) == each(data, packets)
    except Damaged:
        pass
    finally:
        source.close()


@for_each("network", NETWORKS[:5])
@for_each("name", [name for name in LINK_LAYERS if "vlan" not in name])
def test_everyday_packets_are_read_in_place(name: str, network: Scapy) -> None:
    link, layer = LINK_LAYERS[name]
    packet = bytes(network if layer is None else layer / network)
    asked = list[int]()

    def odd(link: int, data: bytes, time: int) -> Segment | None:
        asked.append(link)
        return segment_of(link, data)

    data, places = placed(link, [packet, packet, packet])
    found, _, _ = segments(data, places, 0, 0, odd)
    assert [segment for _, _, *segment in found] == [list(segment_of(link, packet) or ())] * 3
    assert asked == []


@settings(max_examples=500, deadline=None)
@given(link=st.sampled_from([*sorted(ON_LINK), 9]), seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_whatever_the_packets_are(link: int, seed: int, count: int) -> None:
    """Sound, damaged and cut ones, so close together that reading too far would find the next one's bytes."""
    rng = random.Random(seed)
    packets = []
    for _ in range(count):
        packet = bytearray(rng.choice(ON_LINK.get(link, SAMPLES) if rng.random() < 0.9 else SAMPLES))
        for _ in range(rng.choice([0, 0, 1, 3])):
            packet[rng.randrange(len(packet))] = rng.getrandbits(8)
        cut = rng.choice([0, 0, rng.randrange(len(packet))])
        packets.append(bytes(packet[: len(packet) - cut]) + bytes(rng.choice([0, 0, 6])))
    data, places = placed(link, packets)
    assert at_once(data, places, 5) == each(data, places, 5)


@pytest.mark.parametrize("sample", [0, 1], ids=["ipv4", "ipv6"])
def test_headers_cut_at_the_end_of_the_data(sample: int) -> None:
    for link, packets in ON_LINK.items():
        whole = packets[sample]
        for size in range(len(whole)):
            data, places = placed(link, [whole, whole[:size]])
            assert at_once(data, places) == each(data, places)
