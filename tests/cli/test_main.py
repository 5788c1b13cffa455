"""The command line as a whole: help, versions, wrong commands, statuses."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import kdbg
from kdbg.protocol.findings import Kind
from kdbg.ui.cli import COMMANDS

from ..cases import by_day, for_each
from .calls import CAPTURES, SHARED, SHIPPED, Outcome, call

Cli = Callable[..., Outcome]


def test_it_runs_as_a_module_and_says_its_version() -> None:
    assert call("--version") == (0, f"kdbg {kdbg.__version__}\n", "")
    assert call("-V").out == call("--version").out


def test_help_lists_the_commands_and_so_does_no_command_at_all(cli: Cli) -> None:
    outcome = cli("--help")
    assert (outcome.status, outcome.err) == (0, "")
    for name, text in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(text)}$", outcome.out, re.MULTILINE)
    assert cli() == cli("-h") == outcome


@for_each("name", COMMANDS)
def test_every_command_has_help_in_80_columns_with_examples(cli: Cli, name: str) -> None:
    outcome = cli(name, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: kdbg {name} ")
    assert f"  kdbg {name} " in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["decoed"], "kdbg: unknown command 'decoed'; did you mean 'decode'? (kdbg --help)\n"),
        (["zzz"], "kdbg: unknown command 'zzz' (kdbg --help)\n"),
        (["decode"], "kdbg: missing argument 'FILE…' (kdbg decode --help)\n"),
        (["decode", "x", "--limit"], "kdbg: option '--limit' requires an argument (kdbg --help)\n"),
        (["apis", "--frob"], "kdbg: no such option"),
    ],
    ids=str,
)
def test_wrong_usage_is_a_line_and_status_2(cli: Cli, arguments: list[str], said: str) -> None:
    outcome = cli(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(said)
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("path", by_day([*SHIPPED, *SHARED], 2), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_status_1_says_that_something_could_not_be_decoded(cli: Cli, path: object) -> None:
    outcome = cli("decode", path, "-f", "summary")
    kinds = set(re.findall(r"([a-z0-9-]+) [\d,]+(?=[,)])", outcome.closing))
    assert outcome.status == any(Kind(kind).is_error for kind in kinds)
    assert "…" not in outcome.out, "nothing is cut in a pipe"


def test_unreadable_beats_undecodable(cli: Cli) -> None:
    errors = CAPTURES / "errors.pcap"
    assert cli("decode", errors, "-f", "summary").status == 1
    assert cli("decode", errors, "none", "-f", "summary").status == 2
    assert cli("decode", "none", errors, "-f", "summary").status == 2
