"""Shell completion: what is offered where, by click's own classes and in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from kdbg.exchanges.filters.table import FILTERS
from kdbg.protocol.findings import Kind
from kdbg.ui.cli import COMMANDS, commands
from kdbg.ui.cli.completion import FILTER_VALUES
from kdbg.ui.guide import topics

from ..cases import for_each
from ..traffic import Talk
from .calls import CAPTURES, ENVIRONMENT, MAIN, Outcome, spawn

ERRORS = CAPTURES / "real-errors.pcap"
Cli = Callable[..., Outcome]


def offered(line: str) -> list[str]:
    """Return what is offered at the end of a command line."""
    *words, typed = line.split(" ")
    completion = ShellComplete(commands, {}, "kdbg", "_KDBG_COMPLETE")
    return [item.value for item in completion.get_completions(words[1:], typed)]


@for_each(
    ("line", "wanted"),
    [
        ("kdbg ", list(COMMANDS)),
        ("kdbg de", ["decode"]),
        ("kdbg --v", ["--version"]),
        ("kdbg decode --show", ["--show-secrets"]),
        ("kdbg decode --format ", ["tree", "summary", "hex", "json"]),
        ("kdbg decode x.pcap --api heart", ["heartbeat"]),
        ("kdbg decode --api Heart", ["Heartbeat"]),
        ("kdbg decode --api 12", ["12"]),
        ("kdbg explain --api group-coord", ["group-coordinator"]),
        ("kdbg report x.pcap -o r.html --api fetch-", ["fetch-snapshot"]),
        ("kdbg pipeline x.pcap --api fetch-", ["fetch-snapshot"]),
        ("kdbg send heartb", ["heartbeat"]),
        ("kdbg send heartbeat --version ", ["4", "3", "2", "1", "0"]),
        ("kdbg encode heartbeat -v 1", ["1"]),
        ("kdbg grammar heartbeat --diff 0 3", ["3"]),
        ("kdbg grammar notat", ["notation"]),
        ("kdbg grammar consumer-protocol-sub", ["consumer-protocol-subscription"]),
        ("kdbg coverage heartb", ["heartbeat"]),
        ("kdbg errors NOT_COORD", ["NOT_COORDINATOR"]),
        ("kdbg errors 13", ["13", "130", "131", "132", "133"]),
        ("kdbg guide ", list(topics())),
        ("kdbg guide findings trail", ["trailing-bytes"]),
        ("kdbg explain trail", ["trailing-bytes"]),
        ("kdbg completion ", ["bash", "zsh", "fish"]),
        (f"kdbg decode {ERRORS} --topic ", ["orders", "ghosts"]),
        (f"kdbg decode {ERRORS} --group ", ["billing"]),
        (f"kdbg decode {ERRORS} --client-id ar", ["archivist"]),
        (f"kdbg decode {ERRORS} --api metadata --connection 25", ["25"]),
        (f"kdbg report {ERRORS} --topic g", ["ghosts"]),
        ("kdbg decode absent.pcap --topic ", []),
        ("kdbg decode --topic ", []),
        ("kdbg grammar nonsense --version ", []),
        (f"kdbg decode {MAIN / 'README.md'} --topic ", []),
    ],
)
def test_what_is_offered(line: str, wanted: list[str]) -> None:
    found = offered(line)
    assert found[: len(wanted)] == wanted
    assert found == wanted or line.endswith(("13", "1"))


def test_every_kind_of_finding_is_offered() -> None:
    assert set(offered("kdbg explain ")) == set(Kind)


def test_files_are_left_to_the_shell() -> None:
    completion = ShellComplete(commands, {}, "kdbg", "_KDBG_COMPLETE")
    assert [item.type for item in completion.get_completions(["decode"], "cap")] == ["file"]


def test_what_completes_filters_belongs_to_filters_that_are_there() -> None:
    assert FILTER_VALUES.keys() <= FILTERS.keys()


def test_only_the_beginning_of_a_capture_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut off there is no error; and topics behind it are not offered."""
    monkeypatch.setattr("kdbg.ui.cli.completion.MOST_BYTES", ERRORS.stat().st_size // 2)
    assert offered(f"kdbg decode {ERRORS} --client-id ar") == []
    assert offered(f"kdbg decode {ERRORS} --client-id sh") == ["shop"]


def test_nothing_that_a_shell_interprets_is_offered(write: Callable[..., Path]) -> None:
    talk = Talk()
    for name in ("good", "$(reboot)", "a b", "--limit", "new\nline", "`x`", "*"):
        talk.ask("Metadata", 1, topics=[{"name": name}]).answer()
    assert offered(f"kdbg decode {write(talk.end())} --topic ") == ["good"]


def test_definitions_that_the_line_names_are_served() -> None:
    folder = MAIN / "tests" / "definitions" / "made"
    assert offered(f"kdbg decode --definitions {folder} --api lam") == ["lamp"]
    assert offered("kdbg decode --api lam") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(cli: Cli, shell: str) -> None:
    outcome = cli("completion", shell)
    assert (outcome.status, outcome.err) == (0, "")
    assert f"_KDBG_COMPLETE={shell}_complete" in outcome.out


def test_the_script_is_answered_by_the_command() -> None:
    outcome = spawn(_KDBG_COMPLETE="bash_complete", COMP_WORDS="kdbg guide tut", COMP_CWORD="2")
    assert outcome == (0, "plain,tutorial\n", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_real_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "kdbg"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kdbg "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = f"""
        source <(kdbg completion bash)
        complete -p kdbg
        COMP_WORDS=(kdbg decode {ERRORS} --topic o)
        COMP_CWORD=4
        _kdbg_completion kdbg 2>/dev/null
        echo "${{COMPREPLY[@]}}"
    """
    environment = ENVIRONMENT | {"PATH": f"{tmp_path}:{ENVIRONMENT['PATH']}", "PYTHONPATH": str(MAIN)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, cwd=MAIN)
    assert done.stdout.splitlines() == ["complete -o nosort -F _kdbg_completion kdbg", "orders"], done.stderr


@pytest.mark.filterwarnings("ignore:'click.utils:DeprecationWarning")
def test_man_pages_can_be_made(tmp_path: Path) -> None:
    pytest.importorskip("click_man", reason="click-man is not installed")
    from click_man.core import write_man_pages

    write_man_pages("kdbg", commands, target_dir=str(tmp_path))
    pages = {path.name for path in tmp_path.iterdir()}
    assert pages == {"kdbg.1", *(f"kdbg-{name}.1" for name in COMMANDS)}
    assert "--format" in (tmp_path / "kdbg-decode.1").read_text(encoding="utf-8").replace("\\-", "-")
