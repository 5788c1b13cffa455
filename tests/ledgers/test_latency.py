"""Where the time of exchanges went: by captures whose times are set here, against what a person works out of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kdbg
from kdbg.analysis.ledgers.latency import Latencies, Timed
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.capture_points import Split, Timing
from kdbg.exchanges.messages.message import UNTIMED
from kdbg.streams.tcp.paths import Paths
from kdbg.views.render.jsonlines import json_line

from ..cli.calls import call
from ..traffic import Talk, pcap

Json = dict[str, Any]
FETCHING: Json = {
    "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0, "topics": [],
}  # fmt: skip
PRODUCING: Json = {"transactional_id": None, "acks": -1, "timeout_ms": 30000, "topic_data": []}
NOWHERE: Json = {"brokers": [], "controller_id": 1, "topics": []}


class Slowed(Talk):
    """A connection whose handshake takes 10 ms, and whose packets come when `when` says, in ms."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.segments[1] = self.segments[1]._replace(at=10)

    def when(self, ms: int) -> Slowed:
        """The next packet comes then."""
        self.at = ms - len(self.segments)
        return self

    def look(self, asked: int, answered: int) -> Slowed:
        """A request of Metadata and its answer."""
        self.when(asked).ask("Metadata", 1, topics=None)
        self.when(answered).answer(**NOWHERE)
        return self


def split_of(tmp_path: Path, *talks: Talk) -> list[Json]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(*talks))
    with open_capture(path) as capture:
        return [json.loads(json_line(one)) for chunk in Timed(Engine()).chunks(capture.blocks()) for one in chunk]


def test_a_plain_answer_is_network_and_broker(tmp_path: Path) -> None:
    one, two = split_of(tmp_path, Slowed().look(20, 50).look(60, 100))
    assert one["split"] == {
        "waiting_ms": 0, "throttle_ms": 0, "network_ms": 10, "held_ms": 0, "broker_ms": 20, "sending_ms": 0,
        "reading_ms": 0, "acknowledged_ms": 10, "beyond_ms": 10, "behind": None,
    }  # fmt: skip
    assert one["tcp"] == {
        "round_trip_ms": 20, "syns": 1, "resent": {"client": 0, "broker": 0},
        "zero_windows": {"client": 0, "broker": 0}, "closed": None, "reset": False,
    }  # fmt: skip
    assert two["split"]["broker_ms"] == 30


def test_a_request_waits_behind_another(tmp_path: Path) -> None:
    talk = Slowed()
    talk.when(20).ask("Metadata", 1, topics=None)
    talk.when(30).ask("Metadata", 1, topics=None)
    talk.when(520).answer(**NOWHERE)
    talk.when(525).answer(**NOWHERE)
    first, second = (one["split"] for one in split_of(tmp_path, talk))
    assert (first["waiting_ms"], first["broker_ms"], first["behind"]) == (0, 490, None)
    assert (second["waiting_ms"], second["network_ms"], second["broker_ms"], second["behind"]) == (480, 10, 5, 1)


def test_a_long_poll_is_held(tmp_path: Path) -> None:
    talk = Slowed().look(20, 32).look(40, 52).look(60, 72)
    talk.when(100).ask("Fetch", 4, **FETCHING)
    talk.when(612).answer(throttle_time_ms=0, responses=[])
    talk.when(620).ask("Fetch", 4, **FETCHING)
    talk.when(631).answer(throttle_time_ms=0, responses=[])
    *_, poll, at_once = (one["split"] for one in split_of(tmp_path, talk))
    assert (poll["held_ms"], poll["broker_ms"], poll["network_ms"]) == (500, 2, 10)
    assert (at_once["held_ms"], at_once["broker_ms"]) == (0, 1)


def test_a_broker_that_is_slower_than_asked_was_not_waiting(tmp_path: Path) -> None:
    talk = Slowed().look(20, 32)
    talk.when(100).ask("Fetch", 4, **FETCHING)
    talk.when(1610).answer(throttle_time_ms=0, responses=[])
    *_, poll = (one["split"] for one in split_of(tmp_path, talk))
    assert (poll["held_ms"], poll["broker_ms"]) == (500, 1000)


def test_a_fetch_that_wants_no_waiting_is_not_held(tmp_path: Path) -> None:
    talk = Slowed().look(20, 32)
    talk.when(100).ask("Fetch", 4, **(FETCHING | {"max_wait_ms": 0}))
    talk.when(310).answer(throttle_time_ms=0, responses=[])
    *_, poll = (one["split"] for one in split_of(tmp_path, talk))
    assert (poll["held_ms"], poll["broker_ms"]) == (0, 200)


@pytest.mark.parametrize(("acks", "held"), [(-1, None), (1, 0)])
def test_what_replicas_took_is_not_known(tmp_path: Path, acks: int, held: int | None) -> None:
    talk = Slowed()
    talk.when(20).ask("Produce", 7, **(PRODUCING | {"acks": acks}))
    talk.when(60).answer(responses=[], throttle_time_ms=0)
    (one,) = split_of(tmp_path, talk)
    assert (one["split"]["held_ms"], one["split"]["broker_ms"]) == (held, 30)


def test_a_throttled_connection_is_silent_after_the_answer(tmp_path: Path) -> None:
    talk = Slowed()
    talk.when(20).ask("Produce", 7, **PRODUCING)
    talk.when(40).answer(responses=[], throttle_time_ms=300)
    talk.when(50).ask("Produce", 7, **PRODUCING)
    talk.when(345).answer(responses=[], throttle_time_ms=0)
    first, second = (one["split"] for one in split_of(tmp_path, talk))
    assert (first["throttle_ms"], first["broker_ms"]) == (0, 10)
    assert (second["throttle_ms"], second["network_ms"], second["broker_ms"]) == (280, 10, 5)


def test_an_old_broker_is_silent_before_it(tmp_path: Path) -> None:
    talk = Slowed()
    talk.when(20).ask("Produce", 3, **PRODUCING)
    talk.when(340).answer(responses=[], throttle_time_ms=300)
    talk.when(350).ask("Produce", 3, **PRODUCING)
    talk.when(370).answer(responses=[], throttle_time_ms=0)
    first, second = (one["split"] for one in split_of(tmp_path, talk))
    assert (first["throttle_ms"], first["broker_ms"]) == (300, 10)
    assert (second["throttle_ms"], second["broker_ms"]) == (0, 10)


def test_without_a_handshake_the_network_is_not_known(tmp_path: Path) -> None:
    talk = Slowed().look(20, 50).look(60, 90)
    del talk.segments[:2]
    one, *_ = split_of(tmp_path, talk)
    assert one["split"]["network_ms"] is None
    assert one["split"]["broker_ms"] == 30
    assert one["tcp"]["round_trip_ms"] is None


def test_who_hung_up_on_a_request(tmp_path: Path) -> None:
    talk = Slowed().look(20, 50)
    talk.when(60).ask("Metadata", 1, topics=None)
    talk.when(400).end()
    *_, unanswered = split_of(tmp_path, talk)
    assert unanswered["split"] is None
    assert (unanswered["tcp"]["closed"], unanswered["tcp"]["reset"]) == ("client", False)


def test_expressions_ask_for_it(tmp_path: Path) -> None:
    talk = Slowed().look(20, 50).look(60, 200)
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(talk))
    where = "split.broker_ms > 100.0 && tcp.round_trip_ms >= 20"
    found = call("decode", path, "-f", "json", "--latency", "--where", where).lines
    assert [one["number"] for one in found] == [2]
    shown = call("decode", path, "-f", "json", "--where", "split.broker_ms > 100.0").lines
    assert [one["number"] for one in shown] == [2]


@pytest.mark.parametrize("format", ["tree", "hex"])
def test_trees_and_hexdumps_have_two_lines_of_it(tmp_path: Path, format: str) -> None:
    talk = Slowed()
    talk.when(20).ask("Metadata", 1, topics=None)
    talk.when(30).ask("Metadata", 1, topics=None)
    talk.when(520).answer(**NOWHERE)
    talk.when(525).answer(**NOWHERE)
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(talk))
    text = call("decode", path, "-f", format, "--latency").out
    assert "\n  time: queued behind #1 480 ms · network 10 ms · broker 5 ms" in text
    assert text.count("\n  tcp: round trip 20 ms\n") == 2
    assert "time: " not in call("decode", path, "-f", format).out


@pytest.mark.parametrize("format", ["tree", "json"])
def test_several_cores_say_the_same(tmp_path: Path, format: str) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Slowed().look(20, 50).look(60, 100)))
    one, two = (call("decode", path, "-f", format, "--latency", "--jobs", n).out for n in (1, 2))
    assert one == two


def test_a_summary_has_no_room_for_it(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Slowed().look(20, 50)))
    done = call("decode", path, "-f", "summary", "--latency")
    assert done.status == 2
    assert "--latency requires --format tree" in done.err


def test_a_program_gets_it_where_its_filter_asks(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Slowed().look(20, 50)))
    (one,) = kdbg.read(path, where="split.broker_ms > 1")
    assert one.timing is not None
    assert one.timing.split.broker == 20_000_000
    assert one.to_dict()["split"]["broker_ms"] == 20
    (plain,) = kdbg.read(path)
    assert plain.timing is None


def spent(tmp_path: Path, usual: int, api: str, version: int, core: int, **asked: Any) -> Json:
    """Where the time of a request goes that a broker has for `core` ms, which has others for `usual` ms."""
    talk = Slowed()
    for number in range(3):
        talk.look(20 + 100 * number, 30 + usual + 100 * number)
    talk.when(1000).ask(api, version, **asked)
    talk.when(1010 + core).answer()
    return split_of(tmp_path, talk)[-1]["split"]  # type: ignore[no-any-return]


def test_a_poll_is_held_if_it_takes_a_millisecond_more_than_usual_and_twice_as_long(tmp_path: Path) -> None:
    for usual, core, held in ((0, 1, 0), (0, 2, 2), (4, 8, 0), (4, 9, 5), (1, 2, 0), (1, 3, 2)):
        split = spent(tmp_path, usual, "Fetch", 4, core, **FETCHING)
        assert (split["held_ms"], split["broker_ms"], split["network_ms"]) == (held, core - held, 10), (usual, core)


def test_a_poll_is_held_for_as_long_as_it_may_and_50_ms_more(tmp_path: Path) -> None:
    for core, held in ((550, 550), (551, 500)):
        split = spent(tmp_path, 0, "Fetch", 4, core, **FETCHING)
        assert (split["held_ms"], split["broker_ms"]) == (held, core - held)


def test_groups_are_waited_for(tmp_path: Path) -> None:
    group: Json = {"group_id": "g", "member_id": "m"}
    for api, version, asked, held in (
        ("JoinGroup", 4, {**group, "session_timeout_ms": 900, "rebalance_timeout_ms": 900}, 400),
        ("SyncGroup", 2, {**group, "generation_id": 1}, 400), ("Heartbeat", 2, {**group, "generation_id": 1}, 0),
        ("ListGroups", 1, {}, 0),
    ):  # fmt: skip
        split = spent(tmp_path, 0, api, version, 400, **asked)
        assert (split["held_ms"], split["broker_ms"]) == (held, 400 - held), api


def test_the_versions_from_which_a_throttled_answer_comes_at_once(tmp_path: Path) -> None:
    for api, version, throttle in (("Produce", 5, 300), ("Produce", 6, 0), ("Fetch", 7, 300), ("Fetch", 8, 0)):
        talk = Slowed()
        body = PRODUCING if api == "Produce" else {**FETCHING, "max_wait_ms": 0}
        talk.when(20).ask(api, version, **body)
        talk.when(340).answer(throttle_time_ms=300)
        (one,) = split_of(tmp_path, talk)
        assert (one["split"]["throttle_ms"], one["split"]["broker_ms"]) == (throttle, 310 - throttle), (api, version)


def test_a_throttle_is_no_longer_than_the_time_that_passed(tmp_path: Path) -> None:
    for until, throttle, broker in ((330, 300, 0), (329, 0, 299), (331, 300, 1)):
        talk = Slowed()
        talk.when(20).ask("Produce", 3, **PRODUCING)
        talk.when(until).answer(throttle_time_ms=300)
        (one,) = split_of(tmp_path, talk)
        assert (one["split"]["throttle_ms"], one["split"]["broker_ms"]) == (throttle, broker)


def test_what_is_usual_is_told_by_the_last_31_answers(tmp_path: Path) -> None:
    for quick, held in ((15, 0), (16, 9)):
        talk = Slowed()
        for number in range(31):
            talk.look(20 + 100 * number, 30 + 100 * number + (9 if number < 31 - quick else 0))
        talk.look(3900, 3919)
        talk.when(5000).ask("Fetch", 4, **FETCHING)
        talk.when(5019).answer()
        assert split_of(tmp_path, talk)[-1]["split"]["held_ms"] == held, quick


def test_an_answer_in_pieces_is_sent_for_a_while(tmp_path: Path) -> None:
    talk = Slowed()
    talk.when(20).ask("Metadata", 1, topics=None)
    talk.when(50).most = 10
    talk.answer(**NOWHERE)
    talk.segments[-1] = talk.segments[-1]._replace(at=77)
    (one,) = split_of(tmp_path, talk)
    assert (one["split"]["sending_ms"], one["split"]["broker_ms"], one["split"]["waiting_ms"]) == (27, 20, 0)


def test_who_resets_a_connection(tmp_path: Path) -> None:
    talk = Slowed().look(20, 50)
    talk._packet(1, 0x14)
    (one,) = split_of(tmp_path, talk)
    assert (one["tcp"]["closed"], one["tcp"]["reset"]) == (None, False)  # it came after the answer
    talk = Slowed().look(20, 50)
    talk.when(60).ask("Metadata", 1, topics=None)
    talk.when(70)._packet(1, 0x14)
    assert [split_of(tmp_path, talk)[-1]["tcp"][name] for name in ("closed", "reset")] == ["broker", True]


def test_a_program_may_want_no_tcp(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Slowed().look(20, 50)))
    with open_capture(path) as capture:
        engine = Timed(Engine(), tcp=False)
        ((one,),) = list(engine.chunks(capture.blocks()))
    assert (engine.is_open(1), engine.is_open(2)) == (True, False)
    assert one.timing is not None
    assert (one.timing.tcp, one.timing.split.broker) == (None, 20_000_000)


def test_a_capture_that_began_with_an_answer_knows_its_client(tmp_path: Path) -> None:
    talk = Slowed().look(20, 50).look(60, 90)
    talk.when(100).ask("Metadata", 1, topics=None)
    talk.when(400).end()
    del talk.segments[:3]
    talk.segments.append(talk.segments[1]._replace(at=95))  # the second request again
    *_, unanswered = split_of(tmp_path, talk)
    assert (unanswered["tcp"]["closed"], unanswered["tcp"]["resent"]) == ("client", {"client": 1, "broker": 0})


def test_an_exchange_without_times_has_no_timing() -> None:
    half = SimpleNamespace(first_time=UNTIMED)
    latencies = Latencies(Paths())
    assert latencies.timing(SimpleNamespace(request=half, response=None)) == Timing(Split(), None)  # type: ignore[arg-type]
