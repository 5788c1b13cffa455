"""Which release of Kafka has which version: what Kafka's own files say, and what their classes say where they are."""

from __future__ import annotations

from kdbg.protocol import grammars
from kdbg.protocol.grammars.releases import FILE, since, until

from ..evidence import tables
from ..evidence.releases import Lifetime, age, claimed, followed, lifetimes, tabled

FETCH, VOTE, LAMP = 1, 52, 200
BEFORE = {(FETCH, 0): Lifetime("0.8.0", "3.9"), (FETCH, 1): Lifetime("0.9.0"), (FETCH, 2): Lifetime("4.0")}


def test_only_versions_that_there_are_have_a_release() -> None:
    for key, version in claimed():
        assert version in grammars.api(key).versions


def test_what_a_release_dropped_was_there_before() -> None:
    for version, lifetime in claimed().items():
        assert lifetime.until is None or age(lifetime.since) <= age(lifetime.until), version


def test_the_releases_are_those_of_the_table() -> None:
    known = tabled()
    assert len(known) == 359
    assert lifetimes([]) == claimed(), "python -m tests.evidence"


def test_the_file_is_as_it_is_written() -> None:
    assert (tables.FOLDER / FILE).read_text() == tables.text(tables.RELEASES, apis=tables.release_rows(claimed()))


def test_what_is_known_of_an_api() -> None:
    assert (since("Produce", 0), until("Produce", 0)) == ("0.8.0", "3.9")
    assert (since("Fetch", 5), until("Fetch", 5)) == ("0.11.0", None)
    assert (since("Fetch", 99), since("Nothing", 0), until("Nothing", 0)) == (None, None, None)


class TestDating:
    """How classes continue a table."""

    def test_what_a_release_has_and_none_before_had_came_with_it(self) -> None:
        found = followed(BEFORE, "4.2.1", [("4.3.1", {(FETCH, 1), (FETCH, 2), (LAMP, 0)})])
        assert found == BEFORE | {(LAMP, 0): Lifetime("4.3")}

    def test_what_it_has_no_more_went_with_the_one_before(self) -> None:
        had = {(FETCH, 1), (FETCH, 2), (VOTE, 0)}
        found = followed(BEFORE, "4.2.1", [("4.3.1", had), ("4.4.0", {(FETCH, 2), (VOTE, 0), (VOTE, 1)})])
        assert found[FETCH, 1] == Lifetime("0.9.0", "4.3")
        assert found[FETCH, 0] == Lifetime("0.8.0", "3.9"), "went long before"
        assert found[VOTE, 1] == Lifetime("4.4")

    def test_versions_are_written_by_release_in_the_order_of_time(self) -> None:
        made = {
            (FETCH, 3): Lifetime("0.10.1", "3.9"),
            (FETCH, 0): Lifetime("0.9.0", "3.9"),
            (FETCH, 4): Lifetime("4.0"),
        }
        row = tables.release_rows(made)["Fetch"]
        assert row == {"since": {"0.9.0": "0", "0.10.1": "3", "4.0": "4"}, "until": {"3.9": "0+3"}}
        assert list(row["since"]) == ["0.9.0", "0.10.1", "4.0"]
