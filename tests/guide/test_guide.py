"""`kdbg guide`: topics, sections, names that are nearly right, and what it looks like on a terminal and in a pipe."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.protocol.findings import Kind
from kdbg.ui.cli import COMMANDS as COMMAND_HELP
from kdbg.ui.guide import FORMER, groups, headings, section, text, topics

from ..cases import for_each
from ..cli.calls import Outcome, call
from .blocks import TOP, blocks, environment
from .generated import COMMANDS

FOLDER = TOP / "kdbg" / "ui" / "guide"
WITHOUT_COMMAND = {"changelog", "licensing", "screenshots"}
GROUPS = ["Start", "Tasks", "Commands", "Reference", "Background", "Project"]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
Cli = Callable[..., Outcome]


def anchors(markdown_of: str) -> set[str]:
    """Return what a code host makes of a topic's headings."""
    return {
        re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-").lower() for _, _, heading in headings(markdown_of)
    }


def test_every_file_is_a_topic_of_one_group() -> None:
    assert list(groups()) == GROUPS
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == sorted([*topics(), "README"])
    assert len(topics()) == sum(map(len, groups().values()))
    for name, about in topics().items():
        assert about.endswith("."), name
        assert text(name).startswith("# ")


@for_each("topic", topics())
def test_a_page_begins_with_what_its_reader_can_do_and_a_command(topic: str) -> None:
    title, purpose, *_ = text(topic).split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert re.match(r"[A-Z`]", purpose), purpose
    if topic not in WITHOUT_COMMAND:
        beginning = re.split(r"^## ", text(topic), flags=re.MULTILINE)[0]
        assert {block.language for block in blocks(beginning)} & {"console", "shell", "text", "python"}


@for_each("topic", sorted(set(COMMANDS.values())))
def test_options_come_before_how_it_works(topic: str) -> None:
    second = [text for _, depth, text in headings(topic) if depth == 2]
    assert second[0].startswith("Options")


@for_each("topic", ["README", *topics()])
def test_links_lead_somewhere(topic: str) -> None:
    for target, anchor in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text(topic), flags=re.DOTALL)):
        if not target.startswith("http"):
            place = (FOLDER / target).resolve() if target else FOLDER / f"{topic}.md"
            assert place.exists(), target
            assert not anchor or anchor in anchors(place.stem), f"{target}#{anchor}"


@for_each("topic", topics())
def test_lines_are_no_longer_than_the_code_s(topic: str) -> None:
    for line in re.sub(r"^```.*?^```$", "", text(topic), flags=re.DOTALL | re.MULTILINE).splitlines():
        assert len(line) <= 120 or line.startswith("|"), line


def test_without_a_topic_the_groups(cli: Cli) -> None:
    outcome = cli("guide")
    assert (outcome.status, outcome.err) == (0, "")
    for group, names in groups().items():
        lines = "".join(f"- `{name}`: {about}\n" for name, about in names.items())
        assert f"\n## {group}\n\n{lines}" in outcome.out


def test_pages_of_commands_are_in_the_order_of_help() -> None:
    pages = [name for name in groups()["Commands"] if name in COMMAND_HELP]
    assert pages == [name for name in COMMAND_HELP if name in pages]


@pytest.mark.parametrize(("former", "topic"), FORMER.items())
def test_a_topic_goes_by_its_former_name_as_well(cli: Cli, former: str, topic: str) -> None:
    assert former not in topics()
    assert cli("guide", former) == cli("guide", topic) == (0, text(topic), "")


@for_each("topic", topics())
def test_a_topic_in_a_pipe_is_its_markdown(cli: Cli, topic: str) -> None:
    assert cli("guide", topic) == (0, text(topic), "")


@for_each("topic", topics())
def test_a_topic_is_rendered_with_colour_and_keeps_its_words(cli: Cli, topic: str) -> None:
    outcome = cli("guide", topic, "--color", "always")
    assert outcome.status == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", outcome.out)
    assert "\x1b[" in outcome.out
    assert "```" not in shown
    assert ".md" not in re.sub(r"[\w/*]*/\w+\.md|README\.md|\*\.md|capturing\.md", "", shown)


def test_raw_is_markdown_whatever_the_colour(cli: Cli) -> None:
    assert cli("guide", "tutorial", "--raw", "--color", "always").out == text("tutorial")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["tutorail"], "did you mean 'tutorial'?"),
        (["trailing-byte"], "did you mean 'trailing-bytes'?"),
        (["zzz"], "list all with kdbg guide"),
        (["findings", "trailng-bytes"], "did you mean 'trailing-bytes'?"),
        (["findings", "zzz"], "sections: Findings, "),
    ],
    ids=str,
)
def test_names_that_are_nearly_right(cli: Cli, arguments: list[str], hint: str) -> None:
    outcome = cli("guide", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert hint in outcome.err


@for_each("kind", Kind)
def test_every_kind_of_finding_has_a_section_with_its_severity(cli: Cli, kind: Kind) -> None:
    found = section("findings", kind)
    assert found is not None
    assert found.startswith(f"### {kind}\n\n*{kind.severity.value.capitalize()}")
    for part in ("**Cause:**", "**What to do:**"):
        assert part in found
    assert cli("explain", kind) == cli("guide", kind) == cli("guide", "findings", kind) == (0, found, "")


def test_a_kind_of_finding_as_json(cli: Cli) -> None:
    (told,) = cli("explain", "trailing-bytes", "--format", "json").lines
    assert (told["kind"], told["severity"]) == ("trailing-bytes", "error")
    assert told["text"] == section("findings", "trailing-bytes")


def test_a_word_with_more_said_about_it_is_bytes_still() -> None:
    assert "payload" not in call("explain", "order", "--api", "metadata", "--version", "0").out


def test_comments_inside_blocks_are_not_headings() -> None:
    assert "# a cluster inside kdbg" not in [heading for _, _, heading in headings("proxy")]
    assert "# a cluster inside kdbg" in text("proxy")


def on_terminal(*arguments: str, lines: int, pager: str) -> str:
    """Return what a terminal of so many lines gets, without its escape sequences."""
    script = "import os, sys, pty; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    size = f"stty rows {lines} cols 80; exec {sys.executable} -m kdbg {' '.join(arguments)}"
    sizes = {"LINES", "COLUMNS"}  # pytest's workers have them, and programs believe them before the terminal
    kept = {name: value for name, value in environment().items() if name not in sizes}
    done = subprocess.run(
        [sys.executable, "-c", script, "sh", "-c", size], capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=kept | {"PAGER": pager, "TERM": "xterm"}, cwd=TOP, timeout=60, check=True,
    )  # fmt: skip
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).replace("\r", "")


def test_what_is_longer_than_the_terminal_goes_through_the_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho begin of pager\ncat\necho end of pager\n", encoding="utf-8")
    pager.chmod(0o755)
    shown = on_terminal("guide", "tutorial", lines=24, pager=str(pager)).splitlines()
    assert (shown[0], shown[-1]) == ("begin of pager", "end of pager")
    assert "begin of pager" not in on_terminal("guide", "tutorial", lines=500, pager=str(pager))


def test_what_fits_the_terminal_is_shown_at_once() -> None:
    shown = on_terminal("guide", "findings", "trailing-bytes", lines=50, pager="false")
    assert "The message has bytes after its last field" in shown
    assert "###" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_output_of_80_columns_is_not_wrapped() -> None:
    shown = on_terminal("guide", "tutorial", lines=500, pager="false").splitlines()
    assert "    # time UTC     conn api                 req resp   lat details (2026-11-21)" in shown


def test_links_to_topics_are_commands_on_a_terminal() -> None:
    shown = on_terminal("guide", "tutorial", lines=500, pager="false")
    assert "(see kdbg guide capturing)" in " ".join(shown.split())
