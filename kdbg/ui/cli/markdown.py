"""Markdown as a terminal shows it. Imported where there is a terminal alone, for rich takes its time."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text

from ...views.render.style import Look

LINK = re.compile(r"\[([^\]]+)\]\(([a-z]+)\.md(?:#([a-z0-9-]+))?\)")
SYSTEMS = {"STANDARD": "standard", "EIGHT_BIT": "256", "TRUECOLOR": "truecolor", "WINDOWS": "windows"}
"""rich's own names of the colour systems, by those that a look has."""
WIDEST = 100
"""Columns of text that are still read with ease."""


class Unindented(CodeBlock):
    """A block of code from the first column on: what kdbg prints in 80 columns fits a terminal of 80."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


class Page(Markdown):
    """Markdown with code from the first column on."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements, "fence": Unindented, "code_block": Unindented,
    }  # fmt: skip


def rendered(markdown: str, look: Look) -> str:
    """Return Markdown as a terminal shows it; links to topics become the commands that show these."""
    system: Any = SYSTEMS.get(look.colors)
    console = Console(color_system=system, force_terminal=True, width=min(look.width, WIDEST), legacy_windows=False)
    with console.capture() as captured:
        console.print(Page(LINK.sub(_as_command, markdown), hyperlinks=False, code_theme="ansi_dark"))
    text = captured.get() if look.colors else Text.from_ansi(captured.get()).plain
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _as_command(link: re.Match[str]) -> str:
    text, topic, heading = link.groups()
    command = f"`kdbg guide {topic}{' ' + heading if heading else ''}`"
    return command if text.strip("`") in (topic, heading) else f"{text} ({command})"
