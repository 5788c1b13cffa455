"""What a person at a terminal gets from decode: compact trees, a pager for what is long, a hint at what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..cases import for_each
from ..traffic import Talk, pcap
from .calls import CAPTURES, Outcome
from .terminal import on_terminal

Cli = Callable[..., Outcome]
ERRORS = CAPTURES / "errors.pcap"
PAGER = "sed s/^/P:/"
FOLDED, WHOLE = "… 4 defaults", "log_append_time_ms"


def test_trees_on_a_terminal_are_compact_and_in_a_pipe_whole(cli: Cli) -> None:
    shown = on_terminal("decode", f"{ERRORS}#7", out=True).terminal
    assert FOLDED in shown
    assert WHOLE not in shown
    for full in (
        cli("decode", f"{ERRORS}#7").out,
        on_terminal("decode", f"{ERRORS}#7", "--full", out=True).terminal,
        on_terminal("decode", f"{ERRORS}#7", "--explain-fields", out=True).terminal,
    ):
        assert "… " not in full
        assert WHOLE in full


def test_the_one_partition_that_failed_is_on_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    partitions = [{"index": index, "error_code": 6 * (index == 1234)} for index in range(2000)]
    talk = Talk(most=60_000).ask("Produce", 3, acks=1)
    path.write_bytes(pcap(talk.answer(responses=[{"name": "t", "partition_responses": partitions}])))
    screen = on_terminal("decode", path, out=True).screen
    (at,) = [i for i, line in enumerate(screen) if "[1234]" in line]
    assert "NOT_LEADER_OR_FOLLOWER" in screen[at] + screen[at + 1]
    assert any("… 1,987 more, all NONE" in line for line in screen)
    assert len(screen) < 45


def test_only_errors_shows_what_failed_with_its_path(cli: Cli) -> None:
    out = cli("decode", ERRORS, "--only-errors").out
    assert out.count("NOT_LEADER_OR_FOLLOWER (retriable)") == 3
    assert "responses[0].partition_responses[0]  orders\n" in out
    assert "topic_data" not in out
    assert "#2 ApiVersions" not in out, "nothing went wrong there"


def test_depth_shows_so_many_levels(cli: Cli) -> None:
    outs = [cli("decode", f"{ERRORS}#7", "--depth", depth).out for depth in (1, 2, 3, 9)]
    assert outs[-1] == cli("decode", f"{ERRORS}#7").out
    assert [len(out.splitlines()) for out in outs] == sorted(len(out.splitlines()) for out in outs)
    assert "responses  1 element\n    │   └── 1 NOT_LEADER_OR_FOLLOWER" in outs[0]
    assert '"orders"' not in outs[0]
    assert '"orders"' in outs[1]


@pytest.mark.parametrize("option", [["--depth", "2"], ["--only-errors"]])
def test_options_of_trees_are_refused_elsewhere(cli: Cli, option: list[str]) -> None:
    status, out, err = cli("decode", ERRORS, "-f", "json", *option)
    assert (status, out) == (2, "")
    assert f"{option[0]} requires --format tree, not json" in err


def test_what_is_longer_than_the_screen_goes_through_the_pager() -> None:
    long = on_terminal("decode", ERRORS, "-f", "summary", out=True, KDBG_PAGER=PAGER, PAGER="false")
    lines = [line for line in long.screen if line]
    paged = [line for line in lines if line.startswith("P:")]
    assert len(paged) > 59
    closing = next(line for line in lines[len(paged) :] if not line.startswith("kdbg: "))
    assert closing.startswith("208 packets"), "the closing line comes behind the pager's"
    assert (long.status, long.terminal.count("208 packets")) == (1, 1)


@for_each(
    ("options", "environment"),
    [
        (["--limit", "5"], {"KDBG_PAGER": PAGER}),
        (["--no-pager"], {"KDBG_PAGER": PAGER}),
        ([], {"KDBG_PAGER": "", "PAGER": PAGER}),
        ([], {"KDBG_PAGER": "cat", "PAGER": PAGER}),
        (["--jobs", "2"], {"KDBG_PAGER": PAGER}),
        ([], {"KDBG_PAGER": PAGER, "TERM": "dumb"}),
    ],
)
def test_what_is_short_does_not_nor_where_none_is_wanted(options: list[str], environment: dict[str, str]) -> None:
    shown = on_terminal("decode", ERRORS, "-f", "summary", *options, out=True, **environment)
    assert "P:" not in shown.terminal
    assert "✗ UNSUPPORTED_VERSION" in shown.terminal


def test_no_pager_for_a_pipe() -> None:
    assert b"P:" not in on_terminal("decode", ERRORS, "-f", "summary", KDBG_PAGER=PAGER).out


def test_a_pager_that_is_left_early_ends_quietly() -> None:
    shown = on_terminal("decode", ERRORS, out=True, KDBG_PAGER="head -n 1", NO_COLOR="1")
    assert "Traceback" not in shown.terminal
    assert shown.screen[0].startswith("#1 ApiVersions")


def test_a_hint_says_how_to_see_what_went_wrong(cli: Cli) -> None:
    for options, same in ((["-f", "summary"], " --format summary"), ([], "")):
        lines = [line for line in on_terminal("decode", ERRORS, *options, out=True).screen if "with errors" in line]
        assert lines == [f"21 exchanges with errors: kdbg decode {ERRORS} --errors{same}"]
    for options in (["--errors"], ["--only-errors"], ["--exchange", "2"]):
        assert "with errors: kdbg" not in on_terminal("decode", ERRORS, *options, out=True).terminal
    piped = on_terminal("decode", "-", pieces=[Path(ERRORS).read_bytes()], out=True).terminal
    assert "with errors: kdbg" not in piped, "a pipe cannot be read again"
    assert "with errors: kdbg" not in cli("decode", ERRORS).err


@pytest.mark.parametrize("view", ["tree", "hex"])
def test_messages_have_local_times_if_that_is_wanted(view: str) -> None:
    """The offset of India is 5:30 the whole year; times in fields are named as UTC."""
    call = ("decode", f"{CAPTURES / 'first-contact.pcap'}#6", "-f", view)
    here = on_terminal(*call, "--local", out=True, TZ="Asia/Kolkata", NO_COLOR="1").terminal
    there = on_terminal(*call, out=True, TZ="Asia/Kolkata", NO_COLOR="1").terminal
    assert "request  190 bytes  2026-11-21 00:40:04.946797 UTC  packet 24" in there
    assert "request  190 bytes  2026-11-21 06:10:04.946797 IST  packet 24" in here
    assert here.replace("06:10:04.946797 IST", "00:40:04.946797 UTC").replace(
        "06:10:04.948903 IST", "00:40:04.948903 UTC") == there  # fmt: skip


def test_json_stays_in_utc_and_that_is_said(cli: Cli) -> None:
    call = ("decode", f"{CAPTURES / 'first-contact.pcap'}#6", "-f", "json")
    assert cli(*call, "--local").out == cli(*call).out
    assert "--local has no effect on JSON" in cli(*call, "--local").err
    assert "--local" not in cli(*call).err
