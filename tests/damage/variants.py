"""Damage done to captures: each kind is a function of the packets and a random number generator."""

from __future__ import annotations

import random
from collections.abc import Callable

from kdbg.capture import Packet
from kdbg.streams.tcp.table import LATE

from .truth import Whole

Kept = list[tuple[int, Packet]]
"""Packets, each with its place in the whole capture."""
HEADERS = 54
"""Bytes of a packet in front of its TCP payload, as Ethernet, IP and TCP without options take."""


def start_late(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """The recording begins in the middle."""
    return packets[rng.randrange(1, len(packets) * 3 // 4) :]


def stop_early(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """It ends in the middle."""
    return packets[: rng.randrange(len(packets) // 4, len(packets))]


def cut(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """It stops for a while, once or twice."""
    for _ in range(rng.randint(1, 2)):
        start = rng.randrange(len(packets))
        packets = packets[:start] + packets[start + rng.randint(2, 30) :]
    return packets


def drop(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Single packets are missing."""
    share = rng.choice([0.01, 0.05, 0.15])
    return [one for one in packets if rng.random() >= share]


def duplicate(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Packets come again, at once or later."""
    share, out = rng.choice([0.02, 0.2, 1.0]), list[tuple[float, tuple[int, Packet]]]()
    for n, one in enumerate(packets):
        out.append((n, one))
        if rng.random() < share:
            out.append((n + rng.choice([0.5, 3.5, 30.5]), one))
    return [one for _, one in sorted(out, key=lambda placed: placed[0])]


def reorder(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Packets stand up to 6, 12, 24 or 48 places from where they should."""
    reach = rng.choice([6, 12, 24, 48])
    return [one for _, one in sorted((n + rng.random() * reach, one) for n, one in enumerate(packets))]


def delay(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Some packets come up to thousands of packets late, though not a second."""
    reach, share = rng.choice([10, 64, 200, 1000, 5000]), rng.choice([0.01, 0.05, 0.2])
    latest = in_a_second(packets)
    late = [
        (min(n + rng.uniform(10, reach + 10), latest[n]) if rng.random() < share else n, one)
        for n, one in enumerate(packets)
    ]
    return [one for _, one in sorted(late, key=lambda placed: placed[0])]


def in_a_second(packets: Kept) -> list[float]:
    """The latest place of each packet that is less than a second after it."""
    found, place = list[float](), 0
    for n, (_, packet) in enumerate(packets):
        place = max(place, n)
        while place + 1 < len(packets) and packets[place + 1][1][1] < packet[1] + LATE - LATE // 10:
            place += 1
        found.append(place + 0.5)
    return found


def delay_ends(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Of the last packets of connections some come after its FINs and RSTs, up to hundreds of packets late."""
    last = {whole.places[number].way[0]: n for n, (number, _) in enumerate(packets)}
    reach, out, latest = rng.choice([3, 30, 300]), list[tuple[float, tuple[int, Packet]]](), in_a_second(packets)
    for n, one in enumerate(packets):
        end = last[whole.places[one[0]].way[0]]
        late = min(end + rng.uniform(0.1, reach), latest[n])
        out.append((late if end - n < 12 and rng.random() < 0.3 else n, one))
    return [one for _, one in sorted(out, key=lambda placed: placed[0])]


def delay_copies(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Copies of packets, of those of handshakes most often, come up to thousands of packets late."""
    reach, out = rng.choice([64, 500, 5000]), list[tuple[float, tuple[int, Packet]]]()
    for n, one in enumerate(packets):
        out.append((n, one))
        if rng.random() < (0.02 if one[1][6] else 0.2):
            out.append((n + rng.uniform(10, reach), one))
    return [one for _, one in sorted(out, key=lambda placed: placed[0])]


def mix(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Packets are missing, come twice, and come late."""
    for damage in (drop, duplicate, delay):
        packets = damage(whole, packets, rng)
    return packets


def truncate(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """All packets, or some, are cut by a snap length."""
    snaplen, share = rng.choice([80, 88, 96, 128, 300]) - HEADERS, rng.choice([1.0, 0.05])
    return [(n, _cut(packet, snaplen) if rng.random() < share else packet) for n, packet in packets]


def _cut(packet: Packet, length: int) -> Packet:
    return (*packet[:6], packet[6][:length], packet[7])


def flip(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Single bytes say something else."""
    return _changed(packets, rng, rng.choice([0.01, 0.05]), lambda payload: rng.randrange(len(payload)))


def flip_sizes(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Bytes of sizes in front of messages say something else."""
    return _changed(packets, rng, rng.choice([0.01, 0.05]), lambda payload: rng.randrange(min(4, len(payload))))


def flip_firsts(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """A byte of a connection's first request says something else."""
    seen, out = set[bytes](), []
    for n, packet in packets:
        if packet[6] and packet[2] not in seen:
            seen.add(packet[2])
            if rng.random() < 0.5:
                packet = _flipped(packet, rng, rng.randrange(min(len(packet[6]), 20)))
        out.append((n, packet))
    return out


def _changed(packets: Kept, rng: random.Random, share: float, place: Callable[[bytes], int]) -> Kept:
    return [
        (n, _flipped(packet, rng, place(packet[6])) if packet[6] and rng.random() < share else packet)
        for n, packet in packets
    ]


def _flipped(packet: Packet, rng: random.Random, place: int) -> Packet:
    payload = bytearray(packet[6])
    payload[place] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
    return (*packet[:6], bytes(payload), packet[7])


def brokers_alone(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Only what brokers sent is there."""
    return _one_side(whole, packets, 1)


def clients_alone(whole: Whole, packets: Kept, rng: random.Random) -> Kept:
    """Only what clients sent is there."""
    return _one_side(whole, packets, 0)


def _one_side(whole: Whole, packets: Kept, side: int) -> Kept:
    ways = {half.way for halves in whole.halves if (half := halves[side]) is not None}
    return [one for one in packets if whole.places[one[0]].way in ways]


Damage = Callable[[Whole, Kept, random.Random], Kept]
DAMAGE: dict[str, Damage] = {
    "cut": cut,
    "drop": drop,
    "duplicate": duplicate,
    "reorder": reorder,
    "delay": delay,
    "delay ends": delay_ends,
    "delay copies": delay_copies,
    "mix": mix,
    "truncate": truncate,
    "flip": flip,
    "flip sizes": flip_sizes,
    "flip first requests": flip_firsts,
    "start late": start_late,
    "stop early": stop_early,
}
ONE_SIDE: dict[str, Damage] = {"brokers only": brokers_alone, "clients only": clients_alone}


def variant(whole: Whole, kind: str, seed: int | str) -> Kept:
    """Return the packets of a capture with damage of this kind, always the same for a seed."""
    packets = list(enumerate(whole.packets))
    return ({**DAMAGE, **ONE_SIDE}[kind])(whole, packets, random.Random(f"{whole.name} {kind} {seed}"))
