"""What was asked for and never there is named at the end, with what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import kdbg
from kdbg.errors import InputError, UnknownApi

from ..cases import for_each
from ..cli.calls import call

CAPTURES = Path(kdbg.__file__).resolve().parents[1] / "captures"
ERRORS = CAPTURES / "errors.pcap"


def said(*options: object) -> list[str]:
    lines = call("decode", ERRORS, "-f", "summary", *options).err.splitlines()
    return [line for line in lines if line.startswith("kdbg: ")]


@for_each(
    ("option", "value", "line"),
    [
        ("--topic", "ordres", "no match; did you mean orders? the captures contain orders, ghosts"),
        ("--topic", "!ordres", "no match; did you mean orders? the captures contain orders, ghosts"),
        ("--topic", "zz*", "no match; the captures contain"),
        ("--client-id", "shopp", "no match; did you mean shop? the captures contain shop, billing-1, medium"),
        ("--group", "Billing", "no match; did you mean billing? the captures contain billing"),
        ("--api", "vote", "no match; the captures contain Produce"),
        ("--error", "throttling-quota-exceeded", "no match; the captures contain"),
        ("--partition", 99, "no match; the captures contain 0"),
        ("--connection", 40, "no match; the captures contain 10, 8, 7, 6, 5, 4, 3, 2 and 1 more"),
        ("--exchange", 60, "no match; the captures contain 58, 57"),
        ("--host", "127.0.0.2", "no match; did you mean 127.0.0.1? the captures contain 127.0.0.1"),
        ("--correlation-id", -5, "no match; the captures contain 1, 2"),
        ("--packet", 999, "no match; the captures contain none"),
    ],
)
def test_a_value_that_nothing_has(option: str, value: object, line: str) -> None:
    (found,) = said(option, value)
    assert found.startswith(f"kdbg: {option} {value}: {line}")


@pytest.mark.parametrize(
    "options",
    [
        ("--topic", "orders"),
        ("--topic", "ord*", "--topic", "!ghosts"),
        ("--partition", 0),
        ("--exchange", "58"),
        ("--topic", "ordres", "--limit", 0),
    ],
)
def test_nothing_is_said_of_what_is_there_or_was_not_looked_for(options: tuple[object, ...]) -> None:
    assert said(*options) == []


def test_an_expression_that_nothing_fits() -> None:
    pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
    assert said("--where", "latency_ms > 1e9") == ["kdbg: --where: no exchange matches"]
    assert said("--where", "latency_ms > 0") == []


def test_over_several_captures_it_is_said_once_and_only_if_none_has_it() -> None:
    both = call("decode", ERRORS, CAPTURES / "first-contact.pcap", "-f", "summary", "--topic", "ghosts", "--group", "x")
    assert [line for line in both.err.splitlines() if line.startswith("kdbg: ")] == [
        "kdbg: --group x: no match; the captures contain none"
    ]


def test_a_report_says_it_too(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    done = call("report", ERRORS, "-o", tmp_path / "page.html", "--topic", "ordres")
    assert "kdbg: --topic ordres: no match; did you mean orders?" in done.err


def test_the_library_has_it() -> None:
    reading = kdbg.read(ERRORS, topic=["ordres", "orders"])
    assert list(reading)
    (one,) = reading.unmatched
    assert (one.filter, one.value, one.near, one.there) == ("topic", "ordres", "orders", ("orders", "ghosts"))


def test_captured_names_are_escaped() -> None:
    from kdbg.exchanges.filters.filter import pattern
    from kdbg.exchanges.filters.filter_set import FilterTally, Tally
    from kdbg.ui.cli.filters import unmatched_lines

    seen = FilterTally(topic=Tally([pattern("x\x1b[2J")], lambda value: True))
    seen["topic"].note(["a\x1b[31m" + "b" * 100])
    (line,) = unmatched_lines(seen)
    assert "\x1b" not in line
    assert len(line) < 150


@for_each(
    ("given", "error", "text"),
    [
        ({"api": "!fetsch"}, UnknownApi, "did you mean Fetch"),
        ({"api": "zz*"}, InputError, "unknown API 'zz"),
        ({"error": "NOT_LEADR_OR_FOLLOWER"}, InputError, "did you mean NOT_LEADER_OR_FOLLOWER"),
        ({"error": "zz*"}, InputError, "unknown error"),
        ({"exchange": 0}, InputError, "17-20"),
        ({"exchange": "9-8"}, InputError, "17-20"),
        ({"exchange": "a-8"}, InputError, "17-20"),
        ({"exchange": (1, True)}, InputError, "17-20"),
        ({"errors": "most"}, InputError, "true or false or 'all'"),
        ({"correlation_id": 1 << 31}, InputError, "one or several integers"),
    ],
)
def test_what_cannot_be_there_is_refused_at_once(given: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        kdbg.read(ERRORS, **given)  # type: ignore[arg-type]
