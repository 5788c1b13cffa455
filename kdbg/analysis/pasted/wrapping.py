"""What stands around pasted text: Markdown fences, mail quotes, line numbers, prefixes of containers, prompts.

What is taken away leaves every line where it was, so that a place in what is left is a place in the paste.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST = 2 / 3
"""The part of a text's lines that must have a prefix for it to be one."""
DEEPEST = 4
"""Wrappings inside each other."""
DAY = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
PREFIXES = {
    "mail quote": r"(?:> ?)+",
    "docker compose": r"[\w.-]*[g-zG-Z_-][\w.-]* *\|(?: |$)",
    "kubectl --prefix": r"\[pod/[^\]\s]+\](?: |$)",
    "container runtime": rf"{DAY}[\d.]*(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP](?: |$)",
    "kubectl --timestamps": rf"{DAY}\.\d{{9}}Z(?: |$)",
    "journald": rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{DAY}[+-]\d\d:?\d\d) \S+ [\w./@-]+(?:\[\d+\])?:(?: |$)",
}
"""Before each line, by the program that writes it."""
NUMBERED = re.compile(r"[ \t]*(?P<number>\d{1,6})(?:[ \t]*[|:.)](?: |$)|\t|  ?|$)")
NUMBERED_ALONE = re.compile(r"[ \t]*1(?: \| |\t|  )")
FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[^`\n]*")
PROMPT = re.compile(
    r"(?:[\w.-]+@[\w.-]+[: ][^\n$#]{0,80}[$#]|\[[\w.-]+@[^\]\n]{1,80}\][$#]|\$|(?:PS )?[A-Z]:\\[^>\n]{0,80}>)(?: |$)"
)
"""Of shells; a command follows, then what it prints."""


FIRST = 100
"""Lines of which one must have a prefix that most lines have."""


class Block(NamedTuple):
    """A part of a text from a character on; `whole`: it was set apart, so it may be bytes and nothing else."""

    text: str
    start: int
    whole: bool


class Bare:
    """A text without what stands around it: `text`, and how many characters each line lost at its beginning."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self._lost = [0] * len(lines)
        for _ in range(DEEPEST):
            widths = _prefix(lines)
            if not any(widths):
                break
            lines = self._without(lines, widths)
        self._apart = _fenced(lines)
        lines = self._without(lines, [_prompt(line) for line in lines])
        self.text = "\n".join("" if apart is None else line for line, apart in zip(lines, self._apart, strict=True))

    def _without(self, lines: list[str], widths: list[int]) -> list[str]:
        self._lost = [lost + width for lost, width in zip(self._lost, widths, strict=True)]
        return [line[width:] for line, width in zip(lines, widths, strict=True)]

    def place(self, index: int) -> str:
        """Return a place in the paste, `line:character`, for one in the text."""
        line = self.text.count("\n", 0, index)
        return f"{line + 1}:{index - self.text.rfind(chr(10), 0, index) + self._lost[line]}"

    def blocks(self) -> Iterator[Block]:
        """Yield the parts of the text that fences and prompts set apart; all of it where there are none."""
        if len(set(self._apart)) == 1:
            yield Block(self.text, 0, True)
            return
        lines, start, at = self.text.split("\n"), 0, 0
        for number, apart in enumerate(self._apart):
            last = number + 1 == len(lines) or self._apart[number + 1] != apart
            if last:
                text = "\n".join(lines[start : number + 1])
                if text.strip():
                    yield Block(text, at, bool(apart))
                at, start = at + len(text) + 1, number + 1


def _prefix(lines: list[str]) -> list[int]:
    """Return how wide the prefix of each line is; zeros where the lines have none in common."""
    said = [line for line in lines if line.strip() and not FENCE.fullmatch(line)]
    for name, pattern in PREFIXES.items():
        if name == "mail quote" and any(line.startswith("< ") for line in lines):
            continue  # the two directions of netcat's dump
        if name == "mail quote" and any(re.match(r"(?:> ?)+< ", line) for line in lines):
            pattern = "> ?"
        if said and not any(re.match(pattern, line) for line in said[:FIRST]):
            continue
        found = [match.end() if (match := re.match(pattern, line)) else 0 for line in lines]
        if said and sum(map(bool, found)) >= MOST * len(said):
            return found
    return _line_numbers(lines, said)


def _line_numbers(lines: list[str], said: list[str]) -> list[int]:
    """Return how wide the line numbers are, if every line has one and they count up."""
    none = [0] * len(lines)
    if len(said) == 1:
        return [match.end() if (match := NUMBERED_ALONE.match(line)) else 0 for line in lines]
    found = [NUMBERED.match(line) for line in said]
    numbers = [int(match["number"]) for match in found if match]
    told = sum(bool(match and match.string[match.end() :].strip()) for match in found)
    if len(numbers) != len(said) or not numbers or 2 * told < len(said):
        return none
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return none
    return [match.end() if (match := NUMBERED.match(line)) else 0 for line in lines]


def _prompt(line: str) -> int:
    found = PROMPT.match(line)
    return found.end() if found else 0


def _fenced(lines: list[str]) -> list[bool | None]:
    """Return of each line whether it is set apart: inside a fence or below a prompt; None for a fence itself."""
    found: list[bool | None] = []
    fences = any(FENCE.fullmatch(line) for line in lines)
    prompts = any(_prompt(line) for line in lines)
    fence, below = "", False
    for line in lines:
        mark = FENCE.fullmatch(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence, below = "" if fence else mark[1], False
            found.append(None)
            continue
        asked = bool(_prompt(line))
        below = below or asked
        found.append(not asked and (bool(fence) or below or not (fences or prompts)))
    return found
