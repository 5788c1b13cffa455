"""Rows of words as aligned columns that fit the width: the last column is wrapped, never cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from .style import Look

GAP = 2
LEAST, NARROWEST = 24, 40
"""Columns that the last column of a table gets, and a paragraph, however narrow the terminal is."""


def aligned(
    rows: Iterable[Sequence[str]],
    look: Look,
    styles: Sequence[str] = (),
    *,
    indent: int = 0,
    right: Sequence[int] = (),
    widest: int = 1 << 30,
) -> list[str]:
    """Return the lines of a table; `styles` are those of the columns, `right` lists the columns to align at the right.

    The last column is wrapped to the width of the look. Words of more than `widest` letters make no column wider: they
    push the rest of their line aside.
    """
    rows = list(rows)
    columns = zip(*(row[:-1] for row in rows), strict=True)
    widths = [max((len(word) for word in column if len(word) <= widest), default=0) for column in columns]
    start = indent + sum(widths) + GAP * len(widths)
    lines = []
    for row in rows:
        cells = zip(row[:-1], widths, strict=True)
        words = [word.rjust(width) if i in right else word.ljust(width) for i, (word, width) in enumerate(cells)]
        for text in wrap(row[-1], look.width - start) or [""]:
            line = [*words, text]
            for i, style in enumerate(styles[: len(line)]):
                line[i] = look.paint(style, line[i]) if style and line[i].strip() else line[i]
            lines.append((" " * indent + (" " * GAP).join(line)).rstrip())
            words = [" " * width for width in widths]
    return lines


def wrap(text: str, width: int) -> list[str]:
    """Wrap the text into lines of at most `width` columns, but no narrower than `LEAST`; return the lines.

    Words are never broken, nor is a line broken at a no-break space; these come out as plain spaces.
    """
    return [line.replace("\xa0", " ") for line in paragraph(text, width, least=LEAST)]


def paragraph(text: str, width: int, *, hanging: str = "", least: int = NARROWEST) -> list[str]:
    """Wrap the text into lines of at most `width` columns, but no narrower than `least`; no word is broken.

    All lines but the first begin with `hanging`.
    """
    return textwrap.wrap(
        text, max(width, least), subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )


def beside(text: str, look: Look, indent: str, *, hanging: str = "") -> list[str]:
    """Return the lines of a text that follows an indent; one where the look wants long lines."""
    return [text] if look.long_lines else paragraph(text, look.width - len(indent), hanging=hanging)
