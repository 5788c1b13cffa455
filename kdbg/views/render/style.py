"""How text looks: colours, widths, and how much of long things is shown.

Colours are rich's styles turned into escape sequences once, so that bulk output is plain string joining. A look without
colour has empty sequences, and every view must read well with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...payloads.values.chosen import ReadBytes

STYLES = {
    "heading": "bold",
    "guide": "bright_black",
    "name": "cyan",
    "value": "",
    "text": "green",
    "meaning": "magenta",
    "dim": "bright_black",
    "good": "green",
    "bad": "bold red",
    "note": "yellow",
    "field0": "bright_cyan",
    "field1": "bright_yellow",
    "field2": "bright_green",
    "field3": "bright_magenta",
    "field4": "bright_blue",
    "field5": "bright_white",
}
FIELD_COLOURS = 6
COLOUR = re.compile(r"\x1b\[[\d;]*m")
"""What switches styles on and off."""


@cache
def _sequences(style: str, system: str) -> tuple[str, str]:
    """Return the escape sequences that switch a style on and off in this colour system of rich."""
    from rich.color import ColorSystem
    from rich.style import Style

    on, _, off = Style.parse(STYLES[style]).render("\0", color_system=ColorSystem[system]).partition("\0")
    return on, off


@dataclass(frozen=True)
class Look:
    """`colors` is the name of rich's colour system, "" for none.

    `full` shows long arrays and values whole, and lines of a summary; `long_lines` tables too, that else fit the width.
    `meanings` shows after each field of a tree, and below a hexdump, what the fields mean. `local` is for times of
    messages: local time in place of UTC; what stands in fields is in UTC all the same.
    `compact` folds in trees what says nothing beyond its default, `depth` is how many levels of them are drawn, and
    `only_errors` leaves of them what failed. `read` reads keys and values of records, which else are text or bytes.
    `hide_values` shows them by their lengths alone.
    """

    colors: str = ""
    width: int = 80
    full: bool = True
    show_secrets: bool = False
    long_lines: bool = False
    meanings: bool = False
    read: ReadBytes | None = None
    local: bool = False
    compact: bool = False
    depth: int | None = None
    only_errors: bool = False
    hide_values: bool = False

    @property
    def max_items(self) -> int:
        """The number of items of an array that are shown at most."""
        return 1 << 62 if self.full else 12

    @property
    def max_text(self) -> int:
        """The number of characters of a string, or of bytes, that are shown at most."""
        return 1 << 62 if self.full else max(self.width - 24, 40)

    @property
    def max_line(self) -> int:
        """The number of columns that a line of a table may take."""
        return 1 << 62 if self.long_lines else self.width

    def on(self, style: str) -> str:
        return _sequences(style, self.colors)[0] if self.colors and STYLES[style] else ""

    def off(self, style: str) -> str:
        return _sequences(style, self.colors)[1] if self.colors and STYLES[style] else ""

    def paint(self, style: str, text: str) -> str:
        """Return the text in a style, or unchanged without colours."""
        return f"{self.on(style)}{text}{self.off(style)}" if self.colors else text
