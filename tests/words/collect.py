"""All texts of kdbg that users read: of the source code by its syntax trees, of the pages by their lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

from .texts import Hole, Kind, Text

TOP = Path(__file__).resolve().parents[2]
CODE_WRITERS = tuple(
    f"kdbg/views/render/{name}.py" for name in ("text_source", "tree/lines", "tree/source", "hex/source")
)
"""Their texts are source code, which is compiled."""
PAGES_LEFT = {"changelog.md"}
"""Old words are the subject of the changelog."""
FINDINGS = {f"kdbg/protocol/findings/{name}.py" for name in ("facts", "faults", "quirks", "text")}
PHRASES = "kdbg/analysis/pasted/phrases.py"
COUNTING = {"count", "counted", "many", "_many", "number", "plural", "times", "_times"}
"""Functions that write a number with its noun."""
PATTERNS = {"compile", "match", "fullmatch", "search", "sub", "finditer", "findall"}
"""Functions of `re`: their first argument is no text."""
ERRORS = {"fail", "refuse", "BadParameter", "UsageError", "ClickException"}
OF_RULES: dict[int | str, Kind] = {
    "title": Kind.TITLE, "sentence": Kind.CAUSE, "advice": Kind.ADVICE, "alternatives": Kind.ALTERNATIVE
}  # fmt: skip
ARGUMENTS: dict[str, dict[int | str, Kind]] = {
    "rule": OF_RULES,
    "by_error": OF_RULES,
    "malformed": OF_RULES,
    "Lint": {2: Kind.LINT},
    "Measure": {1: Kind.HEAD},
    "MistakeKind": {1: Kind.OTHER},
}
"""Which arguments of a call are texts of which kind."""
_FIELD = re.compile(r"\{[a-z_][\w.]*(?:![a-z])?(?::[^{}]*)?\}")
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_TAG = re.compile(r"<[^<>]*(?:\{\{.*?\}\}[^<>]*)*>")
_ATTRIBUTE = re.compile(r'aria-label="([^"]*)"')
_LETTERS = re.compile("[a-z]{3}")
_LEAVES = {ast.Name, ast.Load, ast.Store, ast.Import, ast.ImportFrom, ast.Global, ast.Pass, ast.alias}
_TEXTS = {ast.Constant, ast.JoinedStr, ast.BinOp}
_QUOTED = re.compile(r"`[^`]*`")
_CODE = re.compile(
    r"[A-Za-z_}]\((?:[\w{}.\[\]\":+* -]+, )+[\w{}.\[\]\": +*=-]+\)|\bodd(?:=None)?, |\w\(\w+\) if "
    r"|[\w}\])] (?:[!=|+-]?=|is not) [\w{(\[-].*|\bSELECT\b|\bFROM\b|\bIS (?:NOT )?NULL\b"
    r"|^\s*(?:def|if|elif|while|for|return|raise|import|from|with|try|del) .*(?::|\)|odd.*)$"
)
"""What only source code has: of the generators of readers, writers and queries."""


def texts(paths: list[Path] | None = None) -> list[Text]:
    """Return the texts of these files and folders; of all of kdbg, its guide and the README where none is given."""
    paths = paths or [TOP / "kdbg", TOP / "README.md"]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return [text for file in files for text in _texts(file.resolve())]


@cache
def _texts(file: Path) -> list[Text]:
    name = file.relative_to(TOP).as_posix() if file.is_relative_to(TOP) else file.as_posix()
    if file.suffix == ".py" and not name.startswith(CODE_WRITERS):
        return of_code(file.read_text(), name)
    if file.suffix == ".html":
        return list(of_template(file.read_text(), name))
    if file.suffix == ".md" and file.name not in PAGES_LEFT:
        return list(of_page(file.read_text(), name))
    return []


def of_page(page: str, name: str) -> Iterator[Text]:
    """Return the lines of a page outside of blocks of code; code inside a line does not count."""
    fenced = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (text := _QUOTED.sub("\N{WHITE SQUARE}", line)).strip():
            yield Text(name, number, Kind.PAGE, (text,))


def of_template(template: str, name: str) -> Iterator[Text]:
    """Return the lines of a template of HTML without tags and expressions; of these, texts in quotes."""
    for number, line in enumerate(template.splitlines(), 1):
        shown = _TAG.sub(lambda tag: " ".join(_ATTRIBUTE.findall(tag[0])), line)
        text = " ".join(_EXPRESSION.sub("\N{WHITE SQUARE}", shown).split())
        if " " in text and _LETTERS.search(text):
            yield Text(name, number, Kind.OTHER, (text,))


def of_code(source: str, name: str) -> list[Text]:
    """Return the texts of a file of source code: with a space and letters; docstrings only of commands."""
    visitor = _Visitor(name)
    visitor.visit(ast.parse(source), visitor.kind)
    return visitor.found


class _Visitor:
    """Takes the texts of one file; `kind` is that of a text for which nothing else is known."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Text] = []
        self.kind = (
            Kind.FINDING if file in FINDINGS
            else Kind.FACT if "diagnosis/rules/" in file
            else Kind.MEANING if file.startswith("kdbg/protocol/grammars/")
            else Kind.OTHER
        )  # fmt: skip

    def visit(self, node: ast.AST, kind: Kind) -> None:
        """Take the texts in a node."""
        sort = type(node)
        if sort in _LEAVES or (sort is ast.Expr and isinstance(node.value, ast.Constant)):  # type: ignore[attr-defined]
            return  # a docstring, a key
        if sort in _TEXTS:
            self._text(node, kind)  # type: ignore[arg-type]
        elif sort is ast.Tuple and self.file == PHRASES and len(node.elts) > 2:  # type: ignore[attr-defined]
            for one in node.elts[2:]:  # type: ignore[attr-defined]
                self.visit(one, kind)  # after a program's name, and a pattern of its texts
        elif sort is ast.Subscript:
            self.visit(node.value, kind)  # type: ignore[attr-defined]
        elif sort is ast.Call:
            self._call(node, kind)  # type: ignore[arg-type]
        else:
            if sort is ast.FunctionDef:
                self._command(node)  # type: ignore[arg-type]
            elif sort is ast.Raise:
                kind = Kind.ERROR
            elif sort is ast.ClassDef and self.file == "kdbg/protocol/findings/__init__.py":
                kind = Kind.EXPLANATION
            for inner in node.__dict__.values():
                for one in inner if type(inner) is list else (inner,):
                    if isinstance(one, ast.AST):
                        self.visit(one, kind)

    def _call(self, node: ast.Call, kind: Kind) -> None:
        name = _name(node.func)
        self.visit(node.func, kind)
        known = ARGUMENTS.get(name, {})
        if name == "Column" and self.file == "kdbg/ui/tui/table.py":
            known = {1: Kind.HEAD}
        if name in ERRORS:
            kind = Kind.ERROR
        pattern = name in PATTERNS and isinstance(node.func, ast.Attribute) and _name(node.func.value) == "re"
        for place, one in enumerate(node.args[pattern:]):
            self.visit(one, known.get(place, kind))
        for keyword in node.keywords:
            self.visit(keyword.value, Kind.OPTION if keyword.arg == "help" else known.get(keyword.arg or "", kind))

    def _command(self, node: ast.FunctionDef) -> None:
        """Take the help of a command: its first line, and its paragraphs without examples."""
        names = {_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list}
        if not names & {"command", "group"} or (words := ast.get_docstring(node)) is None:
            return
        line = node.body[0].lineno
        for number, paragraph in enumerate(words.split("\n\n")):
            if "\b" not in paragraph:
                kind = Kind.COMMAND if number or "group" in names else Kind.SUMMARY
                self.found.append(Text(self.file, line, kind, (" ".join(paragraph.split()),)))
            line += paragraph.count("\n") + 2

    def _text(self, node: ast.expr, kind: Kind) -> None:
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            return
        if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add):
            parts = tuple(_joined(_parts(node)))
            literal = "".join(part for part in parts if isinstance(part, str))
            if (" " in literal or (literal and kind is Kind.HEAD)) and _LETTERS.search(literal):
                text = Text(self.file, node.lineno, kind, parts)
                if kind is not Kind.OTHER or not _CODE.search(text.template):
                    self.found.append(text)
        self._inner(node)

    def _inner(self, node: ast.expr) -> None:
        """Take the texts in the expressions of a text: of the kind that is its file's default."""
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    self.visit(part.value, self.kind)
        elif isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if _is_text(side) and isinstance(node.op, ast.Add):
                    self._inner(side)
                else:
                    self.visit(side, self.kind)


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            return True
    return False


def _parts(node: ast.expr) -> Iterator[str | Hole]:
    match node:
        case ast.Constant(value=str() as value):
            yield from _fields(value)
        case ast.JoinedStr():
            for one in node.values:
                if isinstance(one, ast.FormattedValue):
                    yield _hole(one)
                else:
                    assert isinstance(one, ast.Constant)
                    yield str(one.value)
        case ast.BinOp(op=ast.Add()):
            yield from _parts(node.left)
            yield from _parts(node.right)
        case _:
            yield Hole(ast.unparse(node), written=True)


def _hole(node: ast.FormattedValue) -> Hole:
    spec = ""
    if isinstance(node.format_spec, ast.JoinedStr):
        spec = "".join(str(one.value) for one in node.format_spec.values if isinstance(one, ast.Constant))
    written = isinstance(node.value, ast.Call) and _name(node.value.func) in COUNTING
    return Hole(ast.unparse(node.value), spec, written=written or isinstance(node.value, ast.IfExp))


def _fields(text: str) -> Iterator[str | Hole]:
    """Return the parts of a text that `str.format` fills; of any other text itself."""
    if not _FIELD.search(text):
        yield text
        return
    try:
        parsed = list(Formatter().parse(text))
    except ValueError:
        yield text
        return
    for literal, name, spec, conversion in parsed:
        if literal:
            yield literal
        if name is not None:
            yield Hole(name, spec or "", conversion or "", written=name == "times")


def _joined(parts: Iterator[str | Hole]) -> Iterator[str | Hole]:
    """Join literal parts that follow each other."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
        text = ""
        yield part
    if text:
        yield text


def _name(node: ast.expr) -> str:
    """Return the last name of `a.b.c`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
