"""The rules of texts: banned words, lengths, plurals and separators, a hedge, a noun before a name, punctuation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .collect import TOP, texts
from .texts import NUMBERS, SINGULAR, UNGROUPED, Hole, Kind, Text


class Violation(NamedTuple):
    """A text that breaks a rule: `word` is what is wrong of it, `remedy` what to write."""

    text: Text
    rule: str
    word: str
    remedy: str

    def __str__(self) -> str:
        text = self.text
        return f"{text.file}:{text.line}: {text.kind}: {text.template!r}: {self.rule} ({self.word}): {self.remedy}"


BANNED: dict[str, tuple[str, str]] = {
    "told": (r"told|tell(?:s|ing)?", "reported, advertised, distinguishes, shows"),
    "in vain": (r"in vain", "without success; N attempts, no reply"),
    "hang up": (r"(?:hang(?:s|ing)?|hung) (?:up|on)", "close the connection (FIN), reset it (RST)"),
    "whom": (r"whom|whoever|whomever", "the client, broker, member or host"),
    "nobody": (r"(?:no|some|any)body", "no host, no client, a program, any host"),
    "passed over": (r"pass(?:ed|es|ing)? over", "skipped; overtaken by later responses"),
    "is no": (r"(?<!there )(?:is|are|was|were) no(?! longer\b)", "is not a, unknown, invalid"),
    "turned down": (r"turn(?:s|ed|ing)? down", "refused (RST), rejected, failed"),
    "of unknown name": (r"of unknown name|at no known time|not said", "(unknown)"),
    "in the clear": (r"in the clear", "plaintext"),
    "answer": (r"answer(?:s|ed|ing)?", "response, responds"),
    "behind": (
        r"(?<!fall )(?<!falls )(?<!fell )(?<!fallen )(?<!falling )(?<!lags )(?<!lag )(?<!lagging )"
        r"(?<!queued )(?<!queues )(?<!far )behind(?! an? (?:proxy|load balancer|NAT)\b)",
        "after (only a lag and a queue are behind)",
    ),
    "in front": (r"in front", "before"),
    "veil": (r"(?:un)?veil(?:s|ed)?", "redacted"),
    "is due": (r"(?:is|are|was|were) due", "expected"),
    "sound": (r"sound(?:s|ly)?", "decoded correctly, intact"),
    "mend": (r"mend(?:s|ed|ing)?", "fix"),
    "speak": (r"speak(?:s|ing)?|spoke|spoken", "supports, uses, sends"),
    "say": (r"say(?:s|ing)?|said", "contains, declares, prints, sends, means"),
    "stand": (r"(?<!-)stand(?:s|ing)?(?!-| ?alone)|stood", "is, is at, is stored, remains"),
    "want": (r"want(?:s|ed|ing)?", "needs, requires, expects, requested, selected"),
    "apart": (r"apart|aside", "separately; ignored; except for"),
    "alone": (r"(?<!stand-)(?<!standalone )alone", "only; stand-alone"),
    "a line an X": (r"(?:a line|an object|a row) an? \w+|an object a line", "one line per X; JSON Lines"),
    "once more": (r"once more|anew", "again"),
    "beyond": (r"beyond", "above, exceeding"),
    "or else": (r"(?:or|,) else", "otherwise, default, alternatively"),
    "odd": (r"odd(?! number)(?:ly)?", "finding, anomaly"),
    "leftover": (r"leftovers?", "trailing bytes"),
    "unasked": (r"unasked", "unsolicited"),
    "straggler": (r"stragglers?", "late response"),
    "weighty": (r"weight(?:y|iest|ier)", "most severe"),
    "prove": (r"prov(?:e|es|ed|en|ing)", "recognised, validated, verified"),
    "shall": (r"shall", "must, or the present tense"),
    "hears of": (r"hears? of|deaf", "receives, ignores"),
    "gives it up": (r"gives? (?:it|them|that|this) up", "dropped, timed out, abandoned"),
    "dash": (r"\s[\N{EN DASH}\N{EM DASH}]\s", "a colon, a semicolon, or two sentences"),
}
"""Words and what to write instead: style.md 13 to 17 and 29, and the clear cases of the glossary."""
_BANNED = {
    name: (re.compile(pattern if name == "dash" else rf"\b(?:{pattern})\b", re.IGNORECASE), remedy)
    for name, (pattern, remedy) in BANNED.items()
}
_ANY = re.compile("|".join(pattern.pattern for pattern, _ in _BANNED.values()), re.IGNORECASE)

ALWAYS = {
    "in vain", "hang up", "whom", "nobody", "passed over", "is no", "turned down", "of unknown name", "in the clear",
    "veil", "is due", "sound", "mend",
}  # fmt: skip
"""The rules that hold for the meanings of fields, too, which keep their tone otherwise."""
PROSE = {"say", "want", "alone", "dash"}
"""The rules that do not hold for pages, where people say and want something."""

MOST = {
    Kind.SUMMARY: 62, Kind.OPTION: 120, Kind.FINDING: 90, Kind.EXPLANATION: 60, Kind.TITLE: 50, Kind.CAUSE: 220,
    Kind.ADVICE: 200, Kind.HEAD: 10, Kind.LINT: 90,
}  # fmt: skip
"""Letters that a text of a kind may have, filled: style.md 26."""
STOPPED = {Kind.SUMMARY, Kind.COMMAND, Kind.OPTION, Kind.ADVICE}
OPEN = {Kind.FINDING, Kind.CAUSE, Kind.LINT, Kind.ERROR, Kind.EXPLANATION, Kind.TITLE, Kind.ALTERNATIVE}
"""Kinds that end without a full stop, and begin in lower case."""
PROPER = {"Kafka", "Produce", "Fetch", "Metadata", "Python", "Spark", "Java", "Docker", "Protobuf", "Avro", "Parquet",
          "Wireshark", "Linux", "Windows", "Prometheus", "Textual", "Hadoop", "Permission"}  # fmt: skip
"""Names that may begin such a text."""
NOUNS: dict[str, str] = {
    "client_id": r"clients?|client\.id|members?|producers?|consumers?|id|and|,",
    "broker": r"brokers?|address|leader|coordinator|controller|from|by|with|and|,",
    "leader": r"broker|leader|and|,",
    "topic": r"topics?|and|,",
    "group": r"groups?|group\.id|and|,",
    "host": r"hosts?|and|,",
    "user": r"users?|principals?|user name|and|,",
    "principal": r"users?|principals?",
    "transactional_id": r"transactional\.id|transactional id|transactions?|and|,",
    "partition": r"partitions?|and|,",
    "cluster_id": r"clusters?|cluster id",
}
"""The noun that stands before a name."""
NAMED = {Kind.FINDING, Kind.CAUSE, Kind.ADVICE, Kind.LINT, Kind.ALTERNATIVE, Kind.TITLE}
HEDGE = re.compile(r"\b(?:probably|possibly|may|might)\b|\{probably\}")


def violations(paths: list[Path] | None = None) -> list[Violation]:
    """Return what is wrong of the texts of files and folders; of all of kdbg without any."""
    found = [one for text in texts(paths) for one in check(text)]
    for path in paths or [TOP / "kdbg" / "analysis" / "diagnosis" / "rules"]:
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            if file.resolve().parent.name == "rules":
                found += hedged(file.read_text(), file.resolve().relative_to(TOP).as_posix())
    return found


def check(text: Text) -> Iterator[Violation]:
    """Return what is wrong of a text."""
    yield from banned(text)
    if text.kind is not Kind.PAGE:
        yield from numbers(text)
        yield from length(text)
        yield from punctuation(text)
        yield from nouns(text)


def banned(text: Text) -> Iterator[Violation]:
    """Return the banned words of a text."""
    literal = text.literal
    if not _ANY.search(literal):
        return
    for name, (pattern, remedy) in _BANNED.items():
        if (text.kind is Kind.PAGE and name in PROSE) or (text.kind is Kind.MEANING and name not in ALWAYS):
            continue
        for found in pattern.finditer(literal):
            yield Violation(text, "banned: " + name, found[0].strip(), remedy)


def numbers(text: Text) -> Iterator[Violation]:
    """Return where a text with 1 has a plural, or with 1,234,567 has no separators."""
    if all(isinstance(part, str) for part in text.parts):
        return
    for number in NUMBERS:
        yield from numbers_of(text, text.filled(number))


def numbers_of(text: Text, filled: str) -> Iterator[Violation]:
    """Return what is wrong of the numbers in a text that is filled."""
    if found := SINGULAR.search(filled):
        yield Violation(text, "plural", found[0], "count(number, noun), or {number:noun} in a cause")
    if found := UNGROUPED.search(filled):
        yield Violation(text, "separator", found[0], "count(number, noun), or {number:,}")


def length(text: Text) -> Iterator[Violation]:
    """Return whether a text is too long, filled."""
    most, size = MOST.get(text.kind), len(text.filled())
    if most is not None and size > most:
        yield Violation(text, "length", str(size), f"at most {most} for {text.kind}")


def punctuation(text: Text) -> Iterator[Violation]:
    """Return what is wrong of the ends of a text."""
    template = text.template.strip()
    if text.kind in STOPPED and not template.endswith((".", ":", ".]", "?", ".)", "]")) and template[-1] != "}":
        yield Violation(text, "full stop", template[-10:], f"{text.kind} ends with a full stop")
    if text.kind in OPEN and template.endswith(".") and not template.endswith(("…", "etc.", "..")):
        yield Violation(text, "full stop", template[-10:], f"{text.kind} ends without a full stop")
    first = template.split(" ", 1)[0].strip(",:;")
    if text.kind in OPEN and re.fullmatch("[A-Z][a-z]+", first) and first not in PROPER:
        yield Violation(text, "capital", first, f"{text.kind} begins in lower case")
    if text.kind is Kind.ADVICE and not first[:1].isupper() and not first.startswith("{"):
        yield Violation(text, "capital", first, "advice begins with a verb and a capital")
    if text.kind is Kind.TITLE and first in ("a", "an", "the"):
        yield Violation(text, "article", first, "a title begins without an article")


def nouns(text: Text) -> Iterator[Violation]:
    """Return the names in a text that have no noun before them."""
    if text.kind not in NAMED:
        return
    before = ""
    for part in text.parts:
        if (
            isinstance(part, Hole)
            and part.name in NOUNS
            and not re.search(rf"(?:\b(?:{NOUNS[part.name]})|,) $", before)
        ):
            yield Violation(
                text, "noun", f"{{{part.name}}}", f"a noun before the name: {NOUNS[part.name].split('|')[0]}"
            )
        before = part if isinstance(part, str) else ""


def definitions(source: str) -> dict[str, str]:
    """Return of each rule in a module its definition, with the functions that it names: all other lines are empty."""
    lines, tops = source.splitlines(), dict[str, ast.stmt]()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            tops[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            tops[node.targets[0].id] = node
    found: dict[str, str] = {}
    for name, node in tops.items():
        if not {"rule", "by_error", "malformed"} & {_called(one) for one in _makers(node)}:
            continue
        parts, named = dict[str, ast.stmt](), [name]
        while named:
            one = named.pop()
            if one in tops and one not in parts:
                parts[one] = tops[one]
                named += [each.id for each in ast.walk(tops[one]) if isinstance(each, ast.Name)]
        kept = {number for part in parts.values() for number in _lines(part)}
        found[name] = "\n".join(line if number in kept else "" for number, line in enumerate(lines, 1))
    return found


def _makers(node: ast.stmt) -> list[ast.expr]:
    """Return what makes a rule of a definition: decorators, or a call."""
    return (
        node.decorator_list
        if isinstance(node, ast.FunctionDef)
        else [node.value]
        if isinstance(node, ast.Assign)
        else []
    )


def _called(node: ast.expr) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _lines(node: ast.stmt) -> range:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return range(min(one.lineno for one in (node, *decorators)), (node.end_lineno or node.lineno) + 1)


def hedged(source: str, name: str) -> Iterator[Violation]:
    """Return the causes of a module of rules that are not certain, and have no hedge."""
    for definition in definitions(source).values():
        yield from _hedged(definition, name)


def _hedged(source: str, name: str) -> Iterator[Violation]:
    tree = ast.parse(source)
    levels: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "certainty":
            found = {one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)}
            levels |= {str(one) for one in found} or {"certain", "likely"}
    if not levels & {"likely", "guess"}:
        return
    from .collect import of_code

    all = list(of_code(source, name))
    sentences = [text for text in all if text.kind is Kind.CAUSE]
    where = all if "certain" in levels else sentences
    if not any(HEDGE.search(text.template) for text in where if text.kind in (Kind.CAUSE, Kind.FACT)):
        for text in sentences:
            yield Violation(text, "hedge", "/".join(sorted(levels)), "likely: probably; guess: possibly")


def sorted_by_rule(found: Iterable[Violation]) -> dict[str, int]:
    """Return how many violations each rule has, the most first."""
    counts: dict[str, int] = {}
    for one in found:
        counts[one.rule] = counts.get(one.rule, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
