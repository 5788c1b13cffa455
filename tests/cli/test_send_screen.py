"""What `kdbg send` puts on a screen: the options of decode for trees, times and the pager."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from kdbg.ui.cli import commands
from kdbg.ui.cli.options import TREE_OPTIONS

from .calls import Outcome
from .terminal import on_terminal

Cli = Callable[..., Outcome]
METADATA = ("send", "metadata", "--broker", "mock:", "--topic", "orders", "--version", 8)


@pytest.mark.parametrize("name", ["decode", "send"])
def test_the_options_are_the_same(name: str) -> None:
    found = {
        option.opts[0]: option.help
        for option in commands.get_command(None, name).params
        if isinstance(option, click.Option)
    }
    for option, about in TREE_OPTIONS:
        assert found[option] == about["help"]


def test_a_tree_is_as_deep_as_wanted(cli: Cli) -> None:
    assert "error_code" in cli(*METADATA).out
    shallow = cli(*METADATA, "--depth", 1).out
    assert "topics  1 element" in shallow
    assert "error_code" not in shallow


def test_of_what_went_well_only_errors_shows_no_field(cli: Cli) -> None:
    assert "topics" not in cli(*METADATA, "--only-errors").out
    failed = cli("send", "list-offsets", "--broker", "mock:", "--topic", "orders", "--partition", 99, "--only-errors")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in failed.out


@pytest.mark.parametrize("option", ["--only-errors", "--depth"])
def test_other_views_have_no_depth(cli: Cli, option: str) -> None:
    values = ["2"] if option == "--depth" else []
    outcome = cli(*METADATA, option, *values, "-f", "json")
    assert (outcome.status, outcome.out) == (2, "")
    assert f"{option} requires --format tree, not json" in outcome.err


def test_what_is_longer_than_the_screen_goes_through_the_pager_and_the_closing_line_comes_behind() -> None:
    shown = on_terminal(*METADATA, out=True, rows=6, KDBG_PAGER="sed s/^/P:/", NO_COLOR="1").screen
    *_, closing = [line for line in shown if line]
    assert " responded in " in closing
    assert not closing.startswith("P:")
    assert sum(line.startswith("P:") for line in shown) > 6
    plain = on_terminal(*METADATA, "--no-pager", out=True, rows=6, KDBG_PAGER="sed s/^/P:/", NO_COLOR="1").screen
    assert not any(line.startswith("P:") for line in plain)
