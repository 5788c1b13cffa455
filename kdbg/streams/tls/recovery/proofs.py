"""Which secrets are whose: samples of connections and a searched memory in, proved keys out.

A traffic secret of TLS 1.3 gives a key that is in use (RFC 8446, 7.3); the tag of a record then proves whose it is.
Where the capture has the handshake, secrets go by the client's random, as in any key log; else by the two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import new as new_hash
from itertools import chain
from typing import NamedTuple, TypeAlias

from ..hello import CHACHA20_12, KEY_UPDATE, NEW_SESSION_TICKET, TLS_1_2, Suite, gcm_suite, suite, suite_named
from ..openers import Plain, Sealed13, expand_label, openers_12
from ..record import HANDSHAKE as HANDSHAKE_RECORD
from ..record import BoundKey, SealedRecord
from ..session import HANDSHAKE, TRAFFIC, TlsSample
from .chacha20 import State, numbered
from .record_number import nonce_12, number_13, numbered_13

ROUNDS = (1 << 12, 1 << 16, 1 << 20, 1 << 24)
"""Numbers up to which records are looked for: first all connections nearby, then those that are left further on."""
QUICK, ALONE = 3, 1 << 16
"""Rounds of a search that is not thorough, and numbers that it tries for a record alone: others will follow, which
show more of its cipher."""
MOST_NUMBERS = 1 << 28
"""Numbers that are tried in all: half a minute, at ten million a second."""
MOST_NONCES = 1 << 24
"""Nonces of ChaCha20 that are tried in all: a quarter of a minute."""
AES, CHACHA20 = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"), ("TLS_CHACHA20_POLY1305_SHA256",)
"""Suites of TLS 1.3 that are looked for where the capture does not have the handshake."""
HASH_SIZES = {"sha256": 32, "sha384": 48}
Sides: TypeAlias = Mapping[tuple[int, int], Sequence[SealedRecord]]
"""Records of the sides of connections, by the place of a sample and 0 or 1."""
LATER = (bytes((NEW_SESSION_TICKET,)), bytes((KEY_UPDATE,)))
"""How messages begin that follow a handshake."""
FEW, MOST_CHACHA20 = 1 << 13, 1 << 16
"""Windows of which secrets of handshakes are looked for, and which are tried with ChaCha20, which has no schedule."""


class Proved(NamedTuple):
    """A key that opens records of a connection: a secret with its label in a key log, or what goes by the two ends.

    `side` sends the records, side by side as in the sample.
    """

    sample: TlsSample
    label: str
    secret: bytes
    side: int = 0
    bound: BoundKey | None = None


class FoundSecrets:
    """What was found in a memory: AES `keys` in use, and `windows` that may be secrets, by their size.

    `present` returns those of some keys that stand anywhere in the memory: of ciphers without a key schedule; `states`
    what ChaCha20 keeps of connections of TLS 1.2.
    """

    def __init__(
        self,
        keys: Collection[bytes],
        windows: Mapping[int, Collection[bytes]],
        present: Callable[[Collection[bytes]], Collection[bytes]],
        states: Callable[[], Collection[State]],
    ) -> None:
        self.keys, self.windows, self._present, self.states = keys, windows, present, states
        self._modern: dict[Suite, list[bytes]] = {}

    def modern(self, of: Suite) -> list[bytes]:
        """Return the traffic secrets of TLS 1.3 whose key under a suite is in use."""
        if of not in self._modern:
            derived = {expand_label(each, b"key", of.key, of.prf): each for each in self.windows[HASH_SIZES[of.prf]]}
            used = self.keys if of.mode == "GCM" else self._present(derived.keys())
            self._modern[of] = [secret for key, secret in derived.items() if key in used]
        return self._modern[of]


def proved(samples: Collection[TlsSample], secrets: FoundSecrets, *, thorough: bool, whole: bool) -> Iterator[Proved]:
    """Yield the keys of those connections for which that is possible.

    `thorough`: also of very long ones; `whole`: also of handshakes, without which Wireshark does not begin.
    """
    for sample in samples:
        if sample.client_random:
            yield from _of_handshake(sample, secrets, whole=whole)
    rounds = ROUNDS if thorough else ROUNDS[:QUICK]
    yield from _of_middle([sample for sample in samples if not sample.client_random], secrets, rounds)


def unproved(samples: Collection[TlsSample], found: Collection[Proved]) -> list[TlsSample]:
    """Return those connections of which a side's key is still to be found, or that have no record yet."""
    known = {(one.sample, side) for one in found for side in ((one.side,) if one.bound else (0, 1))}
    return [
        one for one in samples
        if not any(one.records) or any((one, side) not in known for side in (0, 1) if one.records[side])
    ]  # fmt: skip


def _of_handshake(sample: TlsSample, secrets: FoundSecrets, *, whole: bool) -> list[Proved]:
    """Return the keys of a connection whose handshake is in the capture: all of them, or none; `whole`: also those of
    the handshake itself."""
    of, keys = suite(sample.suite), list[Proved]()
    if of is not None and sample.version == TLS_1_2:
        found = next((each for each in secrets.windows[48] if _is_master(each, of, sample)), None)
        return [] if found is None else [Proved(sample, "CLIENT_RANDOM", found)]
    sides = (sample.client, 1 - sample.client)
    for label, side in zip(TRAFFIC, sides, strict=True):
        found = None if of is None else _first_secret(of, sample.records[side], secrets)
        if found is None:
            return []
        keys.append(Proved(sample, label, found, side))
    return [*keys, *_handshake_secrets(sample, of, secrets)] if whole and of is not None else keys


def _handshake_secrets(sample: TlsSample, of: Suite, secrets: FoundSecrets) -> Iterator[Proved]:
    """Yield the traffic secrets of a handshake, as far as its library has not erased them.

    OpenSSL keeps the secret that they are derived from, with the hellos (RFC 8446, 7.1).
    """
    windows, context = secrets.windows[HASH_SIZES[of.prf]], new_hash(of.prf, sample.hellos).digest()
    ends = zip(HANDSHAKE, (b"c hs traffic", b"s hs traffic"), (sample.client, 1 - sample.client), strict=True)
    for label, name, side in ends if len(windows) <= FEW else ():
        derived = (expand_label(window, name, len(window), of.prf, context) for window in windows)
        for secret in chain(windows, derived):
            if any(Sealed13(of, secret).open(0, *record) is not None for record in sample.records[side][:1]):
                yield Proved(sample, label, secret, side)
                break


def _first_secret(of: Suite, records: tuple[SealedRecord, ...], secrets: FoundSecrets) -> bytes | None:
    """Return the secret under which one of these records is the first one."""
    tried = secrets.modern(of) if of.mode == "GCM" else list(secrets.windows[HASH_SIZES[of.prf]])[:MOST_CHACHA20]
    for secret in tried:
        opener = Sealed13(of, secret)
        opened = next((plain for record in records if (plain := opener.open(0, *record)) is not None), None)
        if opened is not None and not _is_of_handshake(opened):
            return secret
    return None


def _is_of_handshake(plain: Plain) -> bool:
    """Return whether a handshake's secret opened a record: one of its messages is in it, no later one (RFC 8446, 4)."""
    return plain[0] == HANDSHAKE_RECORD and plain[1][:1] not in LATER


def _is_master(secret: bytes, of: Suite, sample: TlsSample) -> bool:
    """Return whether this is the master secret of a connection (RFC 5246, 8.1)."""
    pair = openers_12(of, secret, sample.client_random, sample.server_random, encrypt_then_mac=sample.encrypt_then_mac)
    ordered = zip(pair, (sample.client, 1 - sample.client), strict=True)
    return any(opener.open(0, *sample.records[side][0]) is not None for opener, side in ordered if sample.records[side])


def _of_middle(samples: list[TlsSample], secrets: FoundSecrets, rounds: Sequence[int]) -> Iterator[Proved]:
    """Yield the keys of connections without a handshake. Numbers of records begin at 0 and grow: near ones first."""
    left = {(at, side) for at, sample in enumerate(samples) for side in (0, 1) if sample.records[side]}
    yield from _of_secrets(samples, left, secrets, rounds)
    left = {(at, side) for at, side in left if not _counts(samples[at].records[side])}
    yield from _of_states(samples, left, secrets, rounds)


def _of_secrets(
    samples: Sequence[TlsSample], left: set[tuple[int, int]], secrets: FoundSecrets, rounds: Sequence[int]
) -> Iterator[Proved]:
    """Yield the keys of sides of connections that follow from a traffic secret, or stand with a key schedule.

    A secret is tried with all sides at once. Sides that this does not find, since no message begins in their records,
    are tried one by one.
    """
    budget, keys = MOST_NUMBERS, set(secrets.keys)
    for suites in (AES, CHACHA20) if left else ():
        unused = {(of, secret) for of in filter(None, map(suite_named, suites)) for secret in secrets.modern(of)}
        for search, ends in ((_together, rounds), (_one_by_one, rounds if rounds == ROUNDS else rounds[:-1])):
            start = 0
            for end in ends:
                sides = {(at, side): samples[at].records[side] for at, side in sorted(left)}
                if start >= ALONE and rounds != ROUNDS:
                    sides = {one: records for one, records in sides.items() if len(records) > 1}
                for (at, side), key in search(sides, unused, keys, start, end):
                    left.discard((at, side))
                    unused = {one for one in unused if one[1] != key[2]}
                    keys.discard(key[2][:-4])
                    yield Proved(samples[at], "", key[2], side, key)
                budget -= (end - start) * len(unused) * (1 if search is _together else len(left))
                start = end
                if budget < 0 or not left:
                    return
        keys = set()  # all were tried


def _together(
    sides: Sides, unused: Collection[tuple[Suite, bytes]], keys: Collection[bytes], start: int, end: int
) -> Iterator[tuple[tuple[int, int], BoundKey]]:
    """Yield which sides have records under traffic secrets of TLS 1.3, or keys of TLS 1.2."""
    modern = {one: records for one, records in sides.items() if not _counts(records)}
    for of, secret in unused:
        if (found := numbered_13(of, secret, modern, start, end)) is not None:
            del modern[found[0]]
            yield found[0], (of.name, found[1], secret)
    for one, records in sides.items():
        if _counts(records) is not False and (key := _key_12(records, keys, start, end)) is not None:
            yield one, key


def _one_by_one(
    sides: Sides, unused: Collection[tuple[Suite, bytes]], keys: Collection[bytes], start: int, end: int
) -> Iterator[tuple[tuple[int, int], BoundKey]]:
    """Yield which sides have records under traffic secrets of TLS 1.3, whatever is in the records."""
    for one, records in sides.items():
        for of, secret in () if _counts(records) else unused:
            if (number := number_13(of, secret, records, start, end)) is not None:
                yield one, (of.name, number, secret)
                break


def _of_states(
    samples: Sequence[TlsSample], left: set[tuple[int, int]], secrets: FoundSecrets, rounds: Sequence[int]
) -> Iterator[Proved]:
    """Yield the keys of sides of connections of TLS 1.2 under ChaCha20."""
    known, start = secrets.states() if left else (), 0
    for end in rounds:
        for state in known if left and len(known) * end <= MOST_NONCES else ():
            sides = {one: samples[one[0]].records[one[1]] for one in left}
            for (at, side), (number, vector) in numbered(state, sides, start, end):
                left.discard((at, side))
                key = CHACHA20_12.name, number, state.key + vector
                yield Proved(samples[at], "", key[2], side, key)
        start = end


def _counts(records: Sequence[SealedRecord]) -> bool | None:
    """Return whether records begin with a number that grows, as with TLS 1.2 (RFC 5288, 3); None where one is alone."""
    return len({record.body[:5] for record in records}) == 1 if len(records) > 1 else None


def _key_12(records: Sequence[SealedRecord], keys: Collection[bytes], start: int, end: int) -> BoundKey | None:
    """Return which key in use records of TLS 1.2 are under."""
    for key in keys:
        if (found := nonce_12(key, records, start, end)) is not None:
            return gcm_suite(len(key)).name, found.number, key + found.salt
    return None
