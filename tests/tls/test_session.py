"""One connection by hand, record by record: what is opened, delivered, missed and waited for, and why it ends."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kdbg.streams.tls.hello import RETRY
from kdbg.streams.tls.openers import expand_label
from kdbg.streams.tls.record import BoundKey
from kdbg.streams.tls.session import ALERTS, TlsConnection, TlsFacts, Why

from . import records
from .records import (
    ALERT,
    CHANGE,
    DATA,
    HANDSHAKE,
    RANDOM,
    message,
    named,
    numbers,
    protocols,
    record,
    seal,
    seal_12,
    vector,
)

CLIENT, SERVER = 0, 1
LABELS = (
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0",
)  # fmt: skip
SECRETS = {label: bytes([place]) * 32 for place, label in enumerate(LABELS)}
SHAKEN, SPOKEN = [[SECRETS[label] for label in LABELS[place : place + 2]] for place in (0, 2)]
"""What the client and the server seal their handshake with, and what they say behind it."""
NEWER = {43: vector(1, numbers(0x0304))}
HELLO = record(HANDSHAKE, message(1, records.client_hello(more={**named(b"kafka"), **NEWER})))
BACK = record(HANDSHAKE, message(2, records.server_hello(more={43: numbers(0x0304)})))
EXTENSIONS = message(8, records.extensions(protocols(b"kafka")))
FINISHED = message(20, bytes(32))


class Keys:
    """Secrets that may come while a session runs."""

    def __init__(self, secrets: Mapping[str, bytes] | None = None, key: bytes = RANDOM) -> None:
        self.found = {} if secrets is None else {key: secrets}

    def find(self, key: bytes, /) -> Mapping[str, bytes] | None:
        return self.found.get(key)

    def bound(self, *_: object) -> Sequence[BoundKey]:
        return ()

    def awaits(self, _: object) -> bool:
        return False

    def __bool__(self) -> bool:
        return True


class NoKeys(Keys):
    def __bool__(self) -> bool:
        return False


class Budget:
    left = 1 << 24


class Heard:
    """A tcp.Receiver that notes what it is given."""

    def __init__(self, events: list[Any], side: int) -> None:
        self.events, self.side = events, side

    def data(self, payload: bytes, time: int, number: int) -> None:
        self.events.append((self.side, payload, time, number))

    def gap(self, length: int, time: int, number: int) -> None:
        self.events.append((self.side, length, time, number))

    def end(self, time: int, number: int) -> None:
        self.events.append((self.side, "end", time, number))


class Desk:
    """A session whose `events` are told; packets are numbered, each at ten times its number."""

    def __init__(self, keys: Keys) -> None:
        self.events: list[Any] = []
        self.budget, self.number = Budget(), 0
        self.session = TlsConnection(
            (("10.0.0.1", 40000), ("10.0.0.2", 9093)), keys, self.budget, self._opens,
            lambda session, why: self.events.append(why),
        )  # fmt: skip

    def _opens(self, session: TlsConnection) -> None:
        self.events.append("opens")
        for number, side in enumerate(session.sides):
            side.attach(Heard(self.events, number))

    def say(self, side: int, *packets: bytes) -> Desk:
        for data in packets:
            self.number += 1
            self.session.sides[side].data(data, self.number * 10, self.number)
        return self

    def lose(self, side: int, length: int) -> Desk:
        self.number += 1
        self.session.sides[side].gap(length, self.number * 10, self.number)
        return self

    def end(self, *sides: int) -> Desk:
        for side in sides:
            self.number += 1
            self.session.sides[side].end(self.number * 10, self.number)
        return self

    def shake(self) -> Desk:
        """The handshake of TLS 1.3, in four packets."""
        flight = seal(SHAKEN[SERVER], 0, EXTENSIONS, HANDSHAKE) + seal(SHAKEN[SERVER], 1, FINISHED, HANDSHAKE)
        show = record(CHANGE, b"\1")
        return (
            self.say(CLIENT, HELLO)
            .say(SERVER, BACK, show + flight)
            .say(CLIENT, show + seal(SHAKEN[CLIENT], 0, FINISHED, HANDSHAKE))
        )

    def told(self) -> list[Any]:
        """The events since the last time."""
        told, self.events[:] = list(self.events), []
        return told


def spoken(side: int, number: int, data: bytes = b"what was said", kind: int = DATA) -> bytes:
    return seal(SPOKEN[side], number, data, kind)


def shaken(secrets: Mapping[str, bytes] = SECRETS) -> Desk:
    made = Desk(Keys(secrets)).shake()
    assert made.told() == ["opens"]
    return made


def test_what_both_say_is_delivered_with_its_packets() -> None:
    desk = shaken()
    desk.say(CLIENT, spoken(CLIENT, 0, b"ask") + spoken(CLIENT, 1, b"more")).say(SERVER, spoken(SERVER, 0, b"answer"))
    assert desk.told() == [(0, b"ask", 50, 5), (0, b"more", 50, 5), (1, b"answer", 60, 6)]
    assert desk.session.about == TlsFacts("TLS 1.3", "TLS_AES_128_GCM_SHA256", "kafka", ("kafka",), (), (), ())
    desk.say(SERVER, spoken(SERVER, 1, b"", DATA), spoken(SERVER, 2, b"\1\0", ALERT)).end(CLIENT, SERVER)
    assert desk.told() == [(0, "end", 90, 9), (1, "end", 100, 10)]
    assert desk.session.about.server_alerts == ()


def test_each_piece_of_a_record_comes_with_its_own_packet() -> None:
    desk, said = shaken(), spoken(CLIENT, 0, b"0123456789")
    for cut in (1, 5, 6, 14, 15, len(said) - 1):
        desk = shaken()
        desk.say(CLIENT, said[:cut], said[cut:])
        first = max(min(cut - 5, 10), 0)
        pieces = [(0, b"0123456789"[:first], 50, 5), (0, b"0123456789"[first:], 60, 6)]
        assert desk.told() == [piece for piece in pieces if piece[1]], cut


def test_without_the_handshakes_secrets_what_follows_is_opened() -> None:
    desk = Desk(Keys({label: SECRETS[label] for label in LABELS[2:]})).shake()
    assert desk.told() == []
    desk.say(CLIENT, spoken(CLIENT, 0, b"ask"))
    assert desk.told() == ["opens", (0, b"ask", 50, 5)]


def test_nothing_is_searched_for_where_nothing_is_missing() -> None:
    desk = shaken()
    tries = desk.session.tries
    update = message(24, b"\0")
    following = expand_label(SPOKEN[CLIENT], b"traffic upd", 32, "sha256")
    desk.say(CLIENT, spoken(CLIENT, 0, b"ask"), spoken(CLIENT, 1, update, HANDSHAKE), seal(following, 0, b"new"))
    desk.say(SERVER, spoken(SERVER, 0, b"\1\0", ALERT), spoken(SERVER, 1, b"answer"))
    assert [event[1] for event in desk.told()] == [b"ask", b"new", b"answer"]
    assert desk.session.tries == tries


MASTER = bytes(range(48))
OLD_HELLO = record(HANDSHAKE, message(1, records.client_hello((0xC02F,))))
OLD_BACK = record(HANDSHAKE, message(2, records.server_hello(0xC02F)))


def shaken_12(keys: Keys) -> Desk:
    """The handshake of TLS 1.2: both change the cipher, and say Finished behind it."""
    desk = Desk(keys).say(CLIENT, OLD_HELLO).say(SERVER, OLD_BACK)
    for side in (CLIENT, SERVER):
        desk.say(side, record(CHANGE, b"\1") + seal_12(MASTER, side, 0, FINISHED, HANDSHAKE))
    return desk


def test_tls_1_2_is_encrypted_from_the_change_of_the_cipher_on() -> None:
    for keys in (Keys({"CLIENT_RANDOM": MASTER}), Keys({"MASTER_SECRET": MASTER}, b"session")):
        desk = shaken_12(keys)
        assert desk.told() == ["opens"]
        tries = desk.session.tries
        desk.say(CLIENT, seal_12(MASTER, CLIENT, 1, b"ask")).say(SERVER, seal_12(MASTER, SERVER, 1, b"answer"))
        assert desk.told() == [(0, b"ask", 50, 5), (1, b"answer", 60, 6)]
        assert desk.session.tries == tries
        said = seal_12(MASTER, CLIENT, 2, b"0123456789")
        desk.say(CLIENT, said[:15], said[15:])
        assert desk.told() == [(0, b"01", 70, 7), (0, b"23456789", 80, 8)], "eight bytes stand in front"
        desk.say(CLIENT, seal_12(MASTER, CLIENT, 3, b"\1\x2f", ALERT))
        assert desk.session.about.client_alerts == ("illegal_parameter",)


def test_what_waits_in_tls_1_2_is_opened_once_the_secret_comes() -> None:
    keys = Keys()
    desk = shaken_12(keys)
    desk.say(CLIENT, seal_12(MASTER, CLIENT, 1, b"ask")).say(SERVER, seal_12(MASTER, SERVER, 1, b"answer"))
    assert desk.told() == []
    keys.found[RANDOM] = {"CLIENT_RANDOM": MASTER}
    desk.say(CLIENT, seal_12(MASTER, CLIENT, 2, b"more"))
    assert sorted(desk.told()[1:]) == [(0, b"ask", 50, 5), (0, b"more", 70, 7), (1, b"answer", 60, 6)]


def test_keys_that_came_and_went_in_a_gap_are_found() -> None:
    following = expand_label(SPOKEN[CLIENT], b"traffic upd", 32, "sha256")
    third = expand_label(following, b"traffic upd", 32, "sha256")
    fourth = expand_label(third, b"traffic upd", 32, "sha256")
    for secret, is_found in ((SPOKEN[CLIENT], True), (following, True), (third, True), (fourth, False)):
        desk = Desk(Keys(SECRETS)).say(CLIENT, HELLO).say(SERVER, BACK).lose(CLIENT, 300)
        desk.say(CLIENT, seal(secret, 2, b"behind a gap"), seal(secret, 3, b"more"))
        assert [event for event in desk.told() if event != "opens" and isinstance(event[1], bytes)] == [
            (0, b"behind a gap", 40, 4), (0, b"more", 50, 5)
        ][: 2 * is_found]  # fmt: skip


def test_a_single_byte_that_is_missing_is_a_gap_and_none_is_not() -> None:
    for data, gap in ((b"?", [(0, 1, 60, 6)]), (b"", [])):
        desk = shaken()
        desk.say(CLIENT, spoken(CLIENT, 0, b"first"), spoken(CLIENT, 1, data)[:-1] + b"!", spoken(CLIENT, 2, b"last"))
        assert desk.told() == [(0, b"first", 50, 5), *gap, (0, b"last", 70, 7)]


def test_a_finished_that_comes_later_changes_no_key() -> None:
    desk = shaken()
    tries = desk.session.tries
    desk.say(CLIENT, spoken(CLIENT, 0, FINISHED, HANDSHAKE), spoken(CLIENT, 1, b"ask"))
    assert (desk.told(), desk.session.tries) == ([(0, b"ask", 60, 6)], tries)


def test_no_more_records_are_missing_than_the_bytes_could_hold() -> None:
    for number, is_found in ((1, True), (6, True), (7, False)):
        desk = shaken().say(CLIENT, spoken(CLIENT, 0, b"first")).lose(CLIENT, 105)
        desk.say(CLIENT, spoken(CLIENT, number, b"last"))
        assert ((0, b"last", 70, 7) in desk.told()) is is_found, "105 // 22 and one more"


def test_a_record_without_data_is_no_gap_and_one_of_a_byte_is_one() -> None:
    for data, gap in ((b"", []), (b"?", [(0, 1, 70, 7)])):
        desk = shaken().say(CLIENT, spoken(CLIENT, 0, b"first")).lose(CLIENT, len(spoken(CLIENT, 1, data)))
        desk.say(CLIENT, spoken(CLIENT, 2, b"last"))
        assert desk.told() == [(0, b"first", 50, 5), *gap, (0, b"last", 70, 7)]


def test_behind_a_gap_a_hello_begins_anew() -> None:
    half = record(HANDSHAKE, message(1, records.client_hello())[:40])
    for front in (b"", half, half + half[:9]):
        desk = Desk(Keys(SECRETS))
        if front:
            desk.say(CLIENT, front)
        desk.lose(CLIENT, 90).say(CLIENT, record(HANDSHAKE, message(14, b"")) + HELLO).say(SERVER, BACK)
        desk.say(CLIENT, spoken(CLIENT, 0, b"ask"))
        assert [event if event == "opens" else event[1] for event in desk.told()] == ["opens", b"ask"]


def test_a_damaged_record_of_the_handshake_takes_no_other() -> None:
    desk = Desk(Keys(SECRETS)).say(CLIENT, HELLO).say(SERVER, BACK)
    spoilt = seal(SHAKEN[SERVER], 0, EXTENSIONS, HANDSHAKE)[:-1] + b"?"
    desk.say(SERVER, spoilt, seal(SHAKEN[SERVER], 1, b"", DATA), seal(SHAKEN[SERVER], 2, b"early"))
    assert desk.told() == ["opens", (1, b"early", 50, 5)]
    desk.say(SERVER, spoken(SERVER, 0, b"answer"), spoken(SERVER, 1, b"more"))
    assert desk.told() == [(1, b"answer", 60, 6), (1, b"more", 70, 7)]


def test_records_of_several_packets_open_under_any_key() -> None:
    """The first key is taken where several are known, and a message that a lost record began is forgotten."""
    desk = Desk(Keys(SECRETS)).say(CLIENT, HELLO).say(SERVER, BACK)
    early = seal(SHAKEN[SERVER], 0, b"early")
    desk.say(SERVER, early[:8], early[8:])
    assert desk.told() == ["opens", (1, b"ear", 30, 3), (1, b"ly", 40, 4)]
    begun = seal(SHAKEN[SERVER], 1, EXTENSIONS[:9], HANDSHAKE)
    spoilt = seal(SHAKEN[SERVER], 2, EXTENSIONS[9:], HANDSHAKE)[:-1] + b"?"
    desk.say(SERVER, begun, spoilt, seal(SHAKEN[SERVER], 3, FINISHED, HANDSHAKE), spoken(SERVER, 0, b"answer"))
    assert [event[1] for event in desk.told()] == [len(EXTENSIONS) - 9, b"answer"]


def test_numbers_are_searched_from_the_last_one_on() -> None:
    desk = shaken().say(CLIENT, spoken(CLIENT, 0, b"first"), spoken(CLIENT, 1, b"second"))
    tries = desk.session.tries
    desk.say(CLIENT, spoken(CLIENT, 3, b"fourth"))
    assert desk.told()[2:] == [(0, b"fourth", 70, 7)]
    assert tries - desk.session.tries == 2, "under 2, and under 3"
    desk.say(CLIENT, spoken(CLIENT, 0, b"again"))
    assert desk.told() == [(0, 5, 80, 8)]


def test_what_is_lost_before_encryption_begins_is_no_gap() -> None:
    desk = Desk(Keys({"CLIENT_RANDOM": MASTER})).say(CLIENT, OLD_HELLO).say(SERVER, OLD_BACK)
    desk.say(CLIENT, record(CHANGE, b"\1") + seal_12(MASTER, CLIENT, 0, FINISHED, HANDSHAKE))
    desk.say(SERVER, record(HANDSHAKE, bytes(90))[:30]).end(SERVER)
    assert desk.told() == ["opens", (1, "end", 50, 5)]
    desk.say(CLIENT, seal_12(MASTER, CLIENT, 1, b"ask")[:20]).end(CLIENT)
    assert desk.told() == [(0, 20, 70, 7), (0, "end", 70, 7)]


def test_messages_are_read_again_once_a_key_is_another() -> None:
    desk = Desk(Keys(SECRETS)).say(CLIENT, HELLO).say(SERVER, BACK)
    desk.say(SERVER, seal(SHAKEN[SERVER], 0, EXTENSIONS + FINISHED, HANDSHAKE)[:-1] + b"?", spoken(SERVER, 0, b"old"))
    tries = desk.session.tries
    following = expand_label(SPOKEN[SERVER], b"traffic upd", 32, "sha256")
    desk.say(SERVER, spoken(SERVER, 1, message(24, b"\0"), HANDSHAKE), seal(following, 0, b"new"))
    assert desk.told() == ["opens", (1, b"old", 40, 4), (1, b"new", 60, 6)]
    assert desk.session.tries == tries


def test_the_names_of_alerts_are_those_of_openssl() -> None:
    for one in ssl.AlertDescription:
        name = one.name.removeprefix("ALERT_DESCRIPTION_").lower()
        assert ALERTS.get(one.value, "none") in (name.replace("user_cancelled", "user_canceled"), "none")
    theirs = {one.value for one in ssl.AlertDescription}
    assert theirs - ALERTS.keys() == {30, 111, 114}, "of versions before TLS 1.2, or given up by RFC 8446"
    assert {number: name for number, name in ALERTS.items() if number not in theirs} == {
        86: "inappropriate_fallback", 109: "missing_extension", 116: "certificate_required",
        120: "no_application_protocol",
    }  # fmt: skip


def test_keys_are_updated() -> None:
    desk, update = shaken(), message(24, b"\0")
    following = [expand_label(secret, b"traffic upd", 32, "sha256") for secret in SPOKEN]
    desk.say(CLIENT, spoken(CLIENT, 0, b"old"), spoken(CLIENT, 1, update, HANDSHAKE), seal(following[0], 0, b"new"))
    assert desk.told() == [(0, b"old", 50, 5), (0, b"new", 70, 7)]
    desk.say(SERVER, spoken(SERVER, 0, b"old")).lose(SERVER, len(spoken(SERVER, 1, update)) + 1)
    desk.say(SERVER, seal(following[1], 0, b"new"))
    assert desk.told()[0] == (1, b"old", 80, 8)
    assert desk.events == []


def test_records_that_are_missing_are_a_gap_of_as_many_plain_bytes() -> None:
    for lost in (1, 2, 5):
        desk = shaken()
        desk.say(CLIENT, spoken(CLIENT, 0, b"first"))
        desk.lose(CLIENT, sum(len(spoken(CLIENT, 1 + number)) for number in range(lost)))
        desk.say(CLIENT, spoken(CLIENT, 1 + lost, b"last"))
        assert desk.told() == [(0, b"first", 50, 5), (0, 13 * lost, 70, 7), (0, b"last", 70, 7)]
    desk = shaken()
    desk.say(CLIENT, spoken(CLIENT, 0, b"first") + spoken(CLIENT, 1)[:8]).lose(CLIENT, 20)
    desk.say(CLIENT, spoken(CLIENT, 1)[28:] + spoken(CLIENT, 2, b"last"))
    assert desk.told() == [(0, b"first", 50, 5), (0, 13, 60, 6), (0, b"last", 70, 7)]
    desk.lose(CLIENT, 99).end(CLIENT)
    assert desk.told() == [(0, 99, 90, 9), (0, "end", 90, 9)]


def test_a_record_that_does_not_open_is_a_gap_and_the_next_opens() -> None:
    desk = shaken()
    spoilt = spoken(CLIENT, 1)[:-1] + b"?"
    desk.say(CLIENT, spoken(CLIENT, 0, b"first"), spoilt, spoken(CLIENT, 2, b"last"))
    assert desk.told() == [(0, b"first", 50, 5), (0, 13, 60, 6), (0, b"last", 70, 7)]
    desk.say(CLIENT, spoken(CLIENT, 11, b"eight are skipped"), spoken(CLIENT, 21, b"nine are not"))
    assert desk.told() == [(0, b"eight are skipped", 80, 8), (0, 12, 90, 9)]


def test_what_waits_for_secrets_is_opened_once_they_come() -> None:
    keys = Keys()
    desk = Desk(keys).shake()
    desk.say(CLIENT, spoken(CLIENT, 0, b"ask")).lose(CLIENT, 7).say(SERVER, spoken(SERVER, 0, b"answer"))
    assert (desk.told(), desk.budget.left < Budget.left) == ([], True)
    finished = seal(SHAKEN[CLIENT], 0, FINISHED, HANDSHAKE) + spoken(CLIENT, 0, b"ask")
    flight = seal(SHAKEN[SERVER], 0, EXTENSIONS + FINISHED, HANDSHAKE) + bytes(22) + spoken(SERVER, 0, b"answer")
    assert [side.held for side in desk.session.sides] == [len(finished), len(flight)]
    assert Budget.left - desk.budget.left == len(finished + flight)
    keys.found[RANDOM] = SECRETS
    desk.say(SERVER, spoken(SERVER, 1, b"more"))
    assert desk.told() == ["opens", (0, b"ask", 50, 5), (1, b"answer", 70, 7), (1, b"more", 80, 8)], "as packets came"
    assert desk.budget.left == Budget.left
    assert [side.held for side in desk.session.sides] == [0, 0]
    desk.end(CLIENT, SERVER)
    assert desk.told() == [(0, 7, 90, 9), (0, "end", 90, 9), (1, "end", 100, 10)]


def test_what_waits_is_bounded_for_a_connection_and_for_all() -> None:
    for left, packets in ((1 << 24, 17), (40_000, 3)):
        desk = Desk(Keys())
        desk.budget.left = left
        desk.shake()
        while desk.events == []:
            desk.say(CLIENT, bytes(16_000))
        assert (desk.told(), desk.number - 4) == ([Why.OTHER_KEYS], packets)
        assert desk.budget.left == left, "all is given back"
        desk.say(CLIENT, spoken(CLIENT, 0)).end(CLIENT, SERVER)
        assert (desk.told(), [side.held for side in desk.session.sides]) == ([], [0, 0])


def reason(keys: Keys, *said: tuple[int, bytes], ends: bool = True) -> Any:
    """Why a connection is not decrypted in which this was said."""
    desk = Desk(keys)
    for side, data in said:
        desk.say(side, data)
    if ends:
        desk.end(CLIENT)
        desk.end(SERVER)
    (found,) = desk.told()
    return found


def test_why_a_connection_is_not_decrypted() -> None:
    hello, back, data = (CLIENT, HELLO), (SERVER, BACK), (SERVER, spoken(SERVER, 0))
    refusal = (SERVER, record(ALERT, b"\2\x28"))
    old = (SERVER, record(HANDSHAKE, message(2, records.server_hello(0xC02F, version=0x0301))))
    mixed = (SERVER, record(HANDSHAKE, message(2, records.server_hello(0xC02F, {43: numbers(0x0304)}))))
    mixed2 = (SERVER, record(HANDSHAKE, message(2, records.server_hello(0x1301))))
    none = (SERVER, record(HANDSHAKE, message(2, records.server_hello(0x0005))))
    keys = Keys(SECRETS)
    assert reason(NoKeys(), hello, back, data, ends=False) is Why.NO_KEYS
    for unknown in (old, mixed, mixed2, none):
        assert reason(keys, hello, unknown, data, ends=False) is Why.UNSUPPORTED
    assert reason(keys, data, ends=False) is Why.NO_HANDSHAKE
    assert reason(keys) is Why.NO_HANDSHAKE
    assert reason(keys, back) is Why.NO_HANDSHAKE
    assert reason(Keys(), hello, back, data) is Why.OTHER_KEYS
    assert reason(Keys({"EXPORTER_SECRET": b""}), hello, back, data) is Why.OTHER_KEYS
    assert reason(keys, hello) is Why.UNANSWERED
    assert reason(keys, hello, refusal) is Why.REFUSED
    assert reason(keys, hello, back) is Why.UNFINISHED
    assert reason(keys, hello, back, (SERVER, record(CHANGE, b"\1")), refusal) is Why.REFUSED
    wrong = Keys({label: secret[1:] + b"?" for label, secret in SECRETS.items()})
    assert reason(wrong, hello, back, data) is Why.WRONG_KEYS


def test_sixteen_records_may_not_open_and_a_million_bytes() -> None:
    wrong = {label: secret[1:] + b"?" for label, secret in SECRETS.items()}
    desk = Desk(Keys(wrong)).say(CLIENT, HELLO).say(SERVER, BACK)
    desk.say(SERVER, *(spoken(SERVER, number) for number in range(16)))
    assert desk.told() == []
    desk.say(SERVER, spoken(SERVER, 16))
    assert desk.told() == [Why.WRONG_KEYS]
    desk = Desk(Keys(SECRETS)).say(CLIENT, HELLO).say(SERVER, BACK)
    rest = (1 << 20) - len(HELLO + BACK)
    desk.say(CLIENT, bytes(rest))
    assert desk.told() == []
    desk.say(SERVER, b"\0")
    assert desk.told() == [Why.UNFINISHED]


def test_alerts_are_of_the_end_that_sends_them() -> None:
    def alert(number: int) -> bytes:
        return record(ALERT, bytes([2, number]))

    desk = Desk(Keys()).say(SERVER, alert(40)).say(CLIENT, HELLO, alert(48)).say(SERVER, BACK, alert(70), alert(200))
    desk.say(CLIENT, alert(0), alert(90), alert(46), alert(42), alert(44), alert(45), record(ALERT, b"\2"))
    about = desk.session.about
    assert about.server_alerts == ("protocol_version", "200")
    assert about.client_alerts == ("handshake_failure", "unknown_ca", "certificate_unknown", "bad_certificate")
    desk = Desk(Keys()).say(CLIENT, HELLO).say(SERVER, alert(40))
    assert desk.session.about.server_alerts == ("handshake_failure",)


def test_what_is_known_before_the_server_answers() -> None:
    offered = records.client_hello(
        more={**named(b"kafka"), **protocols(b"kafka"), 43: vector(1, numbers(0x7A7A, 0x0304, 0x0303))}
    )
    desk = Desk(Keys()).say(CLIENT, record(HANDSHAKE, message(1, offered)))
    assert desk.session.about == TlsFacts("TLS 1.3", "", "kafka", ("kafka",), (), (), ())
    desk.say(SERVER, BACK)
    assert desk.session.about == TlsFacts("TLS 1.3", "TLS_AES_128_GCM_SHA256", "kafka", (), (), (), ())
    odd = record(HANDSHAKE, message(1, records.client_hello(version=0x7A7A)))
    assert Desk(Keys()).say(CLIENT, odd).session.about.version == "TLS 1.2"
    assert Desk(Keys()).session.about == TlsFacts("", "", "", (), (), (), ())
    retry = record(HANDSHAKE, message(2, records.server_hello(random=RETRY)))
    assert Desk(Keys()).say(CLIENT, HELLO).say(SERVER, retry).session.about.cipher == ""


def test_either_end_may_have_begun_the_connection() -> None:
    desk = Desk(Keys(SECRETS)).say(SERVER, HELLO).say(CLIENT, BACK)
    desk.say(SERVER, spoken(CLIENT, 0, b"ask")).say(CLIENT, spoken(SERVER, 0, b"answer"))
    assert desk.told() == ["opens", (1, b"ask", 30, 3), (0, b"answer", 40, 4)]
    assert desk.session.client is desk.session.sides[SERVER]


WITHOUT = """
import sys
sys.modules["cryptography"] = None
import kdbg
reading = kdbg.read_capture(sys.argv[1])
print(len(list(reading)), {str(finding).rpartition("not decrypted: ")[2] for _, finding in reading.findings})
"""


def test_without_the_library_what_stands_in_the_clear_is_told() -> None:
    capture = Path(__file__).parents[2] / "captures/tls/real-tls-1.3.pcap"
    done = subprocess.run([sys.executable, "-c", WITHOUT, capture], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("0 {'no keys")
