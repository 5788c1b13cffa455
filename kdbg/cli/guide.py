"""`kdbg guide`: the manual, rendered on a terminal and as Markdown in a pipe."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .completing import guide_sections, guide_topics
from .options import color_option
from .output import Writer, look

if TYPE_CHECKING:
    from ..render.look import Look

LINK = re.compile(r"\[([^\]]+)\]\(([a-z]+)\.md(?:#([a-z0-9-]+))?\)")
SYSTEMS = {"STANDARD": "standard", "EIGHT_BIT": "256", "TRUECOLOR": "truecolor", "WINDOWS": "windows"}
"""rich's own names of the colour systems, by those that a look has."""
WIDEST = 100
"""Columns of text that are still read with ease."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("topic", required=False, shell_complete=guide_topics)
@click.argument("section", required=False, shell_complete=guide_sections)
@click.option("--raw", is_flag=True, help="Print Markdown as it is, on a terminal too.")
@color_option
def command(topic: str | None, section: str | None, raw: bool, color: str) -> None:
    """Read the manual: without TOPIC, the list of topics; SECTION is a heading of a topic.

    Long topics are shown by the pager (PAGER, else less). In a pipe the output is Markdown.

    \b
    kdbg guide tutorial
    kdbg guide findings leftover
    kdbg guide capturing --raw > capturing.md
    """
    if topic is None:
        show(listing(), raw, color)
    else:
        show(wanted(topic, section), raw, color)


def listing() -> str:
    """Return the list of topics, as Markdown."""
    from ..guide import topics

    lines = [f"- `{name}`: {about}\n" for name, about in topics().items()]
    return "# kdbg guide TOPIC\n\n" + "".join(lines)


def wanted(topic: str, heading: str | None) -> str:
    """Return a topic's text, or that of one of its sections; a finding's kind alone is a section of `findings`.

    Raises `InputError`, with what was probably meant, for a name that nothing has.
    """
    from .. import guide
    from ..findings import Kind

    name, names = topic.casefold(), guide.topics()
    if name in set(Kind) and heading is None:
        return of_finding(name)
    if name not in names:
        raise InputError(f"no topic {topic!r}; {meant(name, [*names, *Kind], '`kdbg guide` lists them')}")
    if heading is None:
        return guide.text(name)
    found = guide.section(name, heading)
    if found is None:
        known = [text for _, _, text in guide.headings(name)]
        raise InputError(
            f"no section {heading!r} in {name!r}; {meant(heading, known, 'there are ' + '; '.join(known))}"
        )
    return found


def of_finding(kind: str) -> str:
    """Return what the manual says of a kind of finding."""
    from ..guide import section

    found = section("findings", kind)
    assert found is not None, kind
    return found


def meant(name: str, known: list[str], otherwise: str) -> str:
    """Return a hint at the known name that is nearest, or something else to say."""
    by_case = {text.casefold(): str(text) for text in known}
    near = difflib.get_close_matches(name.casefold(), by_case, n=1)
    return f"did you mean {by_case[near[0]]!r}?" if near else otherwise


def show(markdown: str, raw: bool, color: str) -> None:
    """Render Markdown on a terminal, through the pager if it is long; write it as it is elsewhere."""
    terminal, shape = sys.stdout.isatty(), look(color, True, False)
    text = markdown if raw or not (terminal or color == "always") else rendered(markdown, shape)
    if terminal and text.count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text, color=bool(shape.colors))
    else:
        writer = Writer()
        writer.write(text)
        writer.flush()


def rendered(markdown: str, look: Look) -> str:
    """Return Markdown as a terminal shows it; links to topics become the commands that show these."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.text import Text

    system: Any = SYSTEMS.get(look.colors)
    console = Console(color_system=system, force_terminal=True, width=min(look.width, WIDEST), legacy_windows=False)
    with console.capture() as captured:
        console.print(Markdown(LINK.sub(_as_command, markdown), hyperlinks=False, code_theme="ansi_dark"))
    text = captured.get() if look.colors else Text.from_ansi(captured.get()).plain
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _as_command(link: re.Match[str]) -> str:
    text, topic, heading = link.groups()
    command = f"`kdbg guide {topic}{' ' + heading if heading else ''}`"
    return command if text.strip("`") in (topic, heading) else f"{text} ({command})"
