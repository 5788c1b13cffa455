"""The rooms and the arrows between them, as the imports of every file have it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import kdbg

ROOT = Path(kdbg.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ANYWHERE = {"errors", "extras", "findings", "budget", "__version__"}
"""What every room may import: exceptions, extras, findings, memory and the version know of no room."""
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "extras": set(),
    "findings": set(),
    "budget": set(),
    "wire": set(),
    "grammars": {"wire"},
    "definitions": {"wire", "grammars"},
    "atomic": set(),
    "capture": {"atomic"},
    "live": {
        "compare", "library", "client", "reading", "filters", "engine", "messages", "grammars", "wire", "capture",
        "atomic", "mistakes",
    },
    "pasted": {"capture"},
    "tcp": {"capture.packet"},
    "tls": {"tcp"},
    "messages": {"grammars", "mistakes", "wire"},
    "jobs": {"messages"},
    "logs": {"capture", "messages", "grammars", "wire"},
    "engine": {"mistakes", "messages", "tls", "tcp", "grammars", "wire", "capture.packet"},
    "ledgers": {"tcp", "messages", "grammars", "wire", "capture.packet"},
    "diagnosis": {"ledgers", "mistakes", "tcp", "messages", "grammars", "wire"},
    "places": {"engine", "messages", "capture.packet"},
    "mistakes": {"messages.message", "messages.score", "messages.weigh", "grammars", "wire"},
    "guess": {"engine", "mistakes", "messages", "grammars", "wire"},
    "filters": {"messages", "grammars", "wire"},
    "compare": {"stats", "messages", "wire"},
    "values": {"wire"},
    "stats": {"messages", "grammars", "wire"},
    "schemas": {"values"},
    "signals": {"render", "records", "messages", "wire"},
    "redact": {"messages", "tcp", "grammars", "wire", "capture"},
    "records": {"values", "segments", "messages", "grammars", "wire"},
    "segments": {"guess", "messages", "grammars", "wire"},
    "client": {
        "values", "engine", "messages", "grammars", "wire", "definitions", "tcp", "capture.packet", "tls.made",
        "atomic",
    },
    "render": {
        "engine", "messages", "mistakes", "guess", "segments", "grammars", "wire", "definitions", "records", "values",
        "compare", "stats", "pasted", "diagnosis",
    },
    "tables": {"render", "engine", "messages", "filters", "tcp", "grammars", "wire", "capture", "ledgers"},
    "spark": {
        "tables", "render", "filters", "engine", "messages", "tcp", "grammars", "wire", "capture", "library",
        "definitions", "ledgers", "diagnosis",
    },
    "report": {"tables", "render", "messages", "filters", "jobs", "grammars", "ledgers", "diagnosis", "capture"},
    "query": {"tables", "spark", "filters", "capture"},
    "reading": {
        "render", "tables", "engine", "messages", "guess", "filters", "segments", "capture", "grammars", "wire",
        "extras", "logs", "pasted", "places", "ledgers", "tcp",
    },
    "library": {"reading", "filters", "messages", "grammars", "wire", "definitions"},
    "__init__": {"library", "reading", "render.shown", "messages", "live"},
    "cli": {
        "render", "client", "tables", "spark", "report", "capture", "segments", "engine", "messages", "guess",
        "filters", "grammars", "wire", "definitions", "reading", "library", "encode", "decode", "read", "jobs",
        "guide", "records", "values", "compare", "schemas", "stats", "query", "redact", "tcp",
        "pasted", "live", "logs", "tui", "ledgers", "diagnosis", "signals",
        "atomic",
    },
    "tui": {"stats", "render", "filters", "messages", "wire"},
    "guide": set(),
    "__main__": {"cli"},
}  # fmt: skip
"""Room by room, what it may import beside itself. `capture.packet` says what a packet is, and imports nothing."""
OWNERS = {
    "scapy": {"capture", "live"},
    "cryptography": {"tls"},
    "rich": {"cli", "render", "tui"},
    "textual": {"tui"},
    "click": {"cli"},
    "opentelemetry": {"wire", "signals"},
    "prometheus_client": {"signals"},
    "requests": {"signals"},
    "cel_expr_python": {"filters"},
    "pyspark": {"spark"},
    "pyarrow": {"spark", "tables", "reading", "query"},
    "duckdb": {"query"},
    "pandas": {"reading"},
    "jinja2": {"report"},
    "sqlite3": {"report"},
    "socket": {"client", "live"},
    "ssl": {"client", "live"},
    "asyncio": {"client", "cli", "live"},
}
"""Packages, and the rooms that alone may import them."""
PURE = (
    "wire", "grammars", "definitions", "messages", "mistakes", "engine", "guess", "filters", "segments", "tcp",
    "tls", "render",
    "tables", "records", "values", "compare", "stats", "redact", "pasted", "logs",
    "ledgers", "diagnosis", "places", "signals",
)  # fmt: skip
"""Rooms that open nothing."""
OPENING = {"pathlib", "subprocess", "tempfile", "shutil", "os"}
LONGEST = 400
TABLES = {"grammars/errors.py"}


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


class Source(NamedTuple):
    """What the tests look at in a file: it is parsed once."""

    lines: int
    docstring: str | None
    imports: tuple[str, ...]
    """The full names of what it imports, wherever in it."""
    called: frozenset[str]
    """The names of functions that it calls."""
    private: tuple[str, ...]
    """Attributes that begin with an underscore."""


@cache
def source(path: Path) -> Source:
    text = path.read_text()
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return Source(
        text.count("\n"),
        ast.get_docstring(tree),
        tuple(name for node in nodes for name in imported(node, path)),
        frozenset(ast.unparse(each) for each in called if isinstance(each, (ast.Name, ast.Attribute))),
        tuple(ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute) and node.attr.startswith("_")),
    )


def imported(node: ast.AST, path: Path) -> Iterator[str]:
    """The full names of what a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = path.relative_to(ROOT.parent).parent.parts
        base = package[: len(package) - node.level + 1] if node.level else ()
        yield from (".".join((*base, *filter(None, [node.module]), alias.name)) for alias in node.names)


def imports(path: Path) -> tuple[str, ...]:
    return source(path).imports


def files_of(room: str) -> list[Path]:
    return [path for path in FILES if room_of(path) == room]


def targets(path: Path) -> Iterator[str]:
    """The names inside kdbg that a file imports, without `kdbg.`."""
    yield from (name.removeprefix("kdbg.") for name in imports(path) if name.startswith("kdbg."))


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 100
    assert {room_of(path) for path in FILES} <= ARROWS.keys(), "a new room needs its arrows"


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_the_arrows_hold(room: str) -> None:
    allowed = ARROWS[room] | ANYWHERE | {room}
    for path in files_of(room):
        for target in targets(path):
            parts = target.split(".")
            assert parts[0] in allowed or ".".join(parts[:2]) in allowed, f"{path} imports {target}"


def test_packages_stay_in_their_rooms() -> None:
    for path in FILES:
        for name in imports(path):
            owners = OWNERS.get(name.split(".")[0])
            assert owners is None or room_of(path) in owners, f"{path} imports {name}"


BELOW = {"capture.packet", "messages.message", "messages.score", "messages.weigh"}
"""Files that stand below the rest of their rooms: others may import them that their rooms import."""


def test_the_arrows_make_no_circle() -> None:
    left = {room: {target.split(".")[0] for target in targets - BELOW} & ARROWS.keys()
            for room, targets in ARROWS.items()}  # fmt: skip
    while left:
        ends = [room for room, targets in left.items() if not targets & left.keys()]
        assert ends, f"a circle among {sorted(left)}"
        for room in ends:
            del left[room]


RECURSIONS = {
    frozenset({"capture.links", "capture.tunnels"}): "a tunnel carries packets of any link",
    frozenset({"wire.readings.spans", "wire.records.spans"}): "records hold structures, structures hold records",
    frozenset({"messages.payloads", "messages.record_payloads"}): "payloads hold record sets, records hold payloads",
    frozenset({"render.metrics", "render.record_tree", "render.tree"}): "branches of a tree are trees",
    frozenset({
        "wire.language.duplicates", "wire.language.payload", "wire.language.types", "wire.nodes",
        "wire.nodes.composite", "wire.nodes.leaves", "wire.nodes.named", "wire.nodes.tags",
    }): "bytes, which are a leaf, may hold payloads, which have a grammar of their own",
}  # fmt: skip
"""Files that import one another, even if only for types or when called: the format itself goes round there."""


def circles() -> list[frozenset[str]]:
    """The files that can reach one another by their imports, wherever these stand."""
    files = {str(path.relative_to(ROOT).with_suffix("")).replace("/", "."): path for path in FILES}
    names = {name.removesuffix(".__init__"): path for name, path in files.items()}
    arrows = {name: {max((known for known in names if f"{target}.".startswith(f"{known}.")), key=len, default=name)
                     for target in targets(path)} - {name} for name, path in names.items()}  # fmt: skip
    reached: dict[str, set[str]] = {}
    for name in names:
        found, left = set[str](), [name]
        while left:
            for target in arrows[left.pop()] - found:
                found.add(target)
                left.append(target)
        reached[name] = found
    return list({
        frozenset({name, *(other for other in reached[name] if name in reached[other])})
        for name in names if name in reached[name]
    })  # fmt: skip


def test_files_make_no_circle_but_where_the_format_does() -> None:
    assert set(circles()) == RECURSIONS.keys()


def test_grammars_take_their_words_from_wire_alone() -> None:
    """Never from construct, whose names mean something else."""
    for path in FILES:
        if room_of(path) == "grammars":
            assert not [name for name in imports(path) if name.split(".")[0] == "construct"], path


def test_scapy_is_imported_by_two_files_and_asked_by_its_public_names() -> None:
    """Another release of it may change all else; captures without tunnels are read without it."""
    using = [path for path in FILES if any(name.split(".")[0] == "scapy" for name in imports(path))]
    assert [str(path.relative_to(ROOT)) for path in using] == ["capture/tunnels.py", "live/interface.py"]
    assert [name for path in using for name in source(path).private] == []


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_files_are_read_and_lines_printed_where_they_should_be(room: str) -> None:
    for path in files_of(room):
        found = source(path)
        if room != "cli":
            assert not found.called & {"print", "input", "sys.exit"}, path
        if room in PURE:
            assert "open" not in found.called, path
            assert not OPENING & {name.split(".")[0] for name in found.imports}, path


def test_every_file_says_what_it_is_for_and_is_short() -> None:
    for path in FILES:
        found = source(path)
        assert found.docstring, f"{path} has no docstring"
        assert found.lines <= LONGEST or str(path.relative_to(ROOT)) in TABLES, path
