"""`kdbg guide`: the manual, rendered on a terminal and as Markdown in a pipe."""

from __future__ import annotations

import difflib
import shutil
import sys

import click

from ...errors import InputError
from .completion import guide_sections, guide_topics
from .options import color_option
from .output import look, write_out


@click.command(context_settings={"max_content_width": 100})
@click.argument("topic", required=False, shell_complete=guide_topics)
@click.argument("section", required=False, shell_complete=guide_sections)
@click.option("--raw", is_flag=True, help="Print plain Markdown, also on a terminal.")
@click.option("--dashboard", type=click.Choice(["metrics", "tables"]),
              help="Print a Grafana dashboard as JSON: for Prometheus metrics, or for pipeline tables.")  # fmt: skip
@color_option
def command(topic: str | None, section: str | None, raw: bool, dashboard: str | None, color: str) -> None:
    """Read the guide: tasks, commands, reference.

    Without TOPIC, kdbg lists the topics; SECTION is a heading of a topic. Long topics open in the pager ($PAGER,
    otherwise less). In a pipe the output is Markdown.

    \b
    kdbg guide tutorial
    kdbg guide findings trailing-bytes
    kdbg guide capturing --raw > capturing.md
    kdbg guide --dashboard metrics > dashboard.json
    """
    from .. import guide

    if dashboard is not None:
        write_out([guide.dashboard(dashboard)])
        return
    if topic is not None:
        show(wanted(topic, section), raw, color)
        return
    parts = ["# kdbg guide TOPIC\n"]
    for group, topics in guide.groups().items():
        lines = [f"- `{name}`: {about}\n" for name, about in topics.items()]
        parts.append(f"## {group}\n\n{''.join(lines)}")
    show("\n".join(parts), raw, color)


def wanted(topic: str, heading: str | None) -> str:
    """Return a topic's text, or a section's, or that on a finding's kind; raise `InputError` for an unknown name."""
    from ...protocol.findings import Kind
    from .. import guide

    names = guide.topics()
    name = guide.FORMER.get(topic.casefold(), topic.casefold())
    kind = Kind.named(heading if name == "findings" and heading else name)
    if kind is not None and (heading is None or name == "findings"):
        name, heading = "findings", kind
    if name not in names:
        raise InputError(f"unknown topic {topic!r}; {meant(name, [*names, *Kind], 'list all with kdbg guide')}")
    if heading is None:
        return guide.text(name)
    found = guide.section(name, heading)
    if found is None:
        known = [text for _, _, text in guide.headings(name)]
        raise InputError(
            f"no section {heading!r} in {name!r}; {meant(heading, known, 'sections: ' + ', '.join(known))}"
        )
    return found


def meant(name: str, known: list[str], otherwise: str) -> str:
    """Return a hint at the known name that is nearest, or something else to say."""
    by_case = {text.casefold(): str(text) for text in known}
    near = difflib.get_close_matches(name.casefold(), by_case, n=1)
    return f"did you mean {by_case[near[0]]!r}?" if near else otherwise


def show(markdown: str, raw: bool, color: str) -> None:
    """Render Markdown on a terminal, through the pager if it is long; write it as it is elsewhere."""
    terminal, shape = sys.stdout.isatty(), look(color, True, False)
    text = markdown
    if not raw and (terminal or color == "always"):
        from .markdown import rendered

        text = rendered(markdown, shape)
    if terminal and text.count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text, color=bool(shape.colors))
    else:
        write_out([text])
