"""The console blocks of a page, rewritten with what their commands print today; lines of … are kept where they are.

A block that shows a part of the output keeps showing that part: each run of lines between two … is moved to the lines
that are most like it, in their order.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from .blocks import Block, blocks, link, sessions, shell

ELLIPSIS = "…"
WORD = re.compile(r"\w+|[^\w\s]")
LIKE = 0.25
"""Lines that have less than this in common are not the same line with other words."""


def rewritten(page: str) -> str:
    """Return a page with the output in its console blocks renewed."""
    found = [block for block in blocks(page) if block.language == "console"]
    renewed = [block_text(block) for block in found]  # one at a time: commands run in this process, and its folder
    lines = page.splitlines(keepends=True)
    for block, text in reversed(list(zip(found, renewed, strict=True))):
        lines[block.line - 1 : block.line - 1 + block.text.count("\n")] = [text]
    return "".join(lines)


def block_text(block: Block) -> str:
    """Return the text of a block after its commands were run, one after the other, in a folder of their own."""
    parts = []
    with tempfile.TemporaryDirectory() as name:
        folder = link(Path(name))
        for command, shown in sessions(block):
            printed, errors = shell(command, folder)
            assert "Traceback" not in errors, f"{command}\n{errors}"
            parts += ["$ " + command.replace("\n", "\n> "), *excerpt(shown, printed.splitlines())]
    return "".join(f"{line}\n" for line in parts)


def excerpt(shown: list[str], printed: list[str]) -> list[str]:
    """Return the printed lines that correspond to the shown ones, with … where lines are left out."""
    if ELLIPSIS not in shown:
        return printed
    if matches(shown, printed):
        return shown
    runs = split(shown)
    rows = alignment([line for run in runs for line in run], printed)
    found: list[str] = []
    end = 0
    for number, run in enumerate(runs):
        own, rows = [row for row in rows[: len(run)] if row is not None], rows[len(run) :]
        if not own:
            found += [] if number in (0, len(runs) - 1) and not run else [ELLIPSIS]
            continue
        start = 0 if number == 0 else max(own[0], end)
        stop = len(printed) if number == len(runs) - 1 else own[-1] + 1
        found += [*([ELLIPSIS] if number else []), *printed[start:stop]]
        end = stop
    return found if runs[-1] else [*found, *([ELLIPSIS] if found[-1:] != [ELLIPSIS] else [])]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Return whether shown lines describe the printed ones; … is any number of lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == ELLIPSIS else re.escape(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def split(shown: list[str]) -> list[list[str]]:
    """Return the runs of lines between …; the first and the last are empty where … begins or ends the output."""
    runs: list[list[str]] = [[]]
    for line in shown:
        if line == ELLIPSIS:
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def alignment(shown: list[str], printed: list[str]) -> list[int | None]:
    """Return the index of the printed line for each shown one, rising; None for a line that nothing resembles."""
    olds, news = [words(line) for line in shown], [words(line) for line in printed]
    best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
    for i in reversed(range(len(olds))):
        for j in reversed(range(len(news))):
            same = likeness(olds[i], news[j])
            pair = same + best[i + 1][j + 1] if same >= LIKE else 0.0
            best[i][j] = max(pair, best[i + 1][j], best[i][j + 1])
    rows: list[int | None] = []
    j = 0
    for i in range(len(olds)):
        k = j
        while k < len(news) and best[i][k + 1] == best[i][k]:
            k += 1
        if k < len(news) and best[i][k] > best[i + 1][k]:
            rows.append(k)
            j = k + 1
        else:
            rows.append(None)
    return rows


def words(line: str) -> frozenset[str]:
    """Return the words and signs of a line."""
    return frozenset(WORD.findall(line)) or frozenset([""])


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two lines have in common, from 0 to 1."""
    return len(one & other) / len(one | other)
