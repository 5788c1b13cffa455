"""The packages and the arrows between them, as the imports of every file have it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import kdbg

ROOT = Path(kdbg.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ANYWHERE = {"errors", "extras", "budget", "collector", "atomic", "__version__", "protocol.findings"}
"""What every package may import: exceptions, extras, memory, Python's collector, files written whole, the version;
findings are data."""
BELOW_VIEWS = {"protocol", "capture", "streams", "exchanges", "payloads", "analysis"}
ARROWS: dict[str, set[str]] = {
    "protocol": set(),
    "capture": set(),
    "streams": {"capture.packet"},
    "exchanges": {"protocol", "streams", "capture.packet"},
    "payloads": {"protocol", "exchanges"},
    "analysis": {"protocol", "capture", "streams", "exchanges", "payloads"},
    "views": BELOW_VIEWS,
    "live": {*BELOW_VIEWS, "views.reading", "library"},
    "scale": {*BELOW_VIEWS, "views", "live.client.deserializers"},
    "ui": {*BELOW_VIEWS, "views", "live", "scale", "library", "encode"},
    "errors": set(),
    "extras": set(),
    "budget": set(),
    "collector": set(),
    "atomic": set(),
    "library": {*BELOW_VIEWS, "views"},
    "spark": {"scale.spark"},
    "__init__": {"library", "protocol", "exchanges", "views", "live"},
    "__main__": {"ui"},
}
"""Folder by folder, in the order of the data, what it may import beside itself."""
OWNERS = {
    "scapy": {"capture", "live"},
    "cryptography": {"streams.tls"},
    "rich": {"ui.cli", "ui.tui", "views.render"},
    "textual": {"ui.tui"},
    "click": {"ui.cli"},
    "opentelemetry": {"protocol.wire", "scale.signals"},
    "prometheus_client": {"scale.signals"},
    "requests": {"scale.signals"},
    "cel_expr_python": {"exchanges.filters"},
    "pyspark": {"scale.spark", "spark"},
    "pyarrow": {"scale", "views.tables", "views.reading"},
    "duckdb": {"scale.query"},
    "pandas": {"views.reading"},
    "jinja2": {"views.report"},
    "socket": {"live"},
    "ssl": {"live"},
    "asyncio": {"live", "ui.cli"},
}
"""Distributions and modules, and the packages that alone may import them."""
PURE = {
    "protocol", "streams", "exchanges.engine", "exchanges.filters", "exchanges.guess", "exchanges.messages",
    "exchanges.mistakes", "exchanges.multipoint", "payloads.records", "payloads.segments", "payloads.values",
    "analysis", "views.redact", "views.render", "views.tables", "scale.signals",
}  # fmt: skip
"""Packages that open nothing."""
OPENING = {"pathlib", "subprocess", "tempfile", "shutil", "os"}
LONGEST = 400
TABLES = {"protocol/grammars/errors.py"}


REFERENCE = re.compile(r"(?<![\w./-])[a-z_]+(?:/[a-z_]+)*\.py\b")
"""A file of kdbg that a docstring, a comment or a page of the guide names."""


def name_of(path: Path) -> str:
    """The name of a module, without `kdbg.`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def is_in(name: str, packages: set[str]) -> bool:
    """Whether a module is one of these, or in one of them."""
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def folder_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


class Source(NamedTuple):
    """What the tests look at in a file: it is parsed once."""

    lines: int
    docstring: str | None
    imports: tuple[str, ...]
    """The full names of what it imports, wherever in it."""
    called: frozenset[str]
    """The names of functions that it calls."""


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
        frozenset(map(dotted, called)),
    )


def dotted(node: ast.AST) -> str:
    """A name as it is written, `sys.exit`; "" for what is more than names. `ast.unparse` takes ten times as long."""
    if isinstance(node, ast.Attribute):
        return f"{before}.{node.attr}" if (before := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


def private(path: Path) -> list[str]:
    """The attributes in a file that begin with an underscore."""
    attributes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute))
    return [ast.unparse(node) for node in attributes if node.attr.startswith("_")]


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


def files_of(folder: str) -> list[Path]:
    return [path for path in FILES if folder_of(path) == folder]


def targets(path: Path) -> Iterator[str]:
    """The names inside kdbg that a file imports, without `kdbg.`."""
    yield from (name.removeprefix("kdbg.") for name in imports(path) if name.startswith("kdbg."))


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 100
    assert {folder_of(path) for path in FILES} == ARROWS.keys(), "a new folder needs its arrows"


@pytest.mark.parametrize("folder", ARROWS)
def test_the_arrows_hold(folder: str) -> None:
    allowed = ARROWS[folder] | ANYWHERE | {folder}
    for path in files_of(folder):
        for target in targets(path):
            assert is_in(target, allowed), f"{path} imports {target}"


def test_distributions_stay_in_their_packages() -> None:
    for path in FILES:
        for name in imports(path):
            owners = OWNERS.get(name.split(".")[0])
            assert owners is None or is_in(name_of(path), owners), f"{path} imports {name}"


DIVIDED = {folder for folder in ARROWS if [path.name for path in (ROOT / folder).glob("*.py")] == ["__init__.py"]}
"""Folders that consist of packages."""


def package_of(name: str) -> str:
    """The package of a module: its folder, or the folder in it where that one has no modules of its own."""
    parts = name.split(".")
    return ".".join(parts[: 1 + (parts[0] in DIVIDED)])


BELOW = {"capture.packet", "exchanges.messages.message", "exchanges.messages.score", "exchanges.messages.weigh"}
"""Files that stand below the rest of their packages: others may import them that their packages import."""


def test_packages_make_no_circle() -> None:
    left: dict[str, set[str]] = {}
    for path in FILES:
        package = package_of(name_of(path))
        found = {package_of(target) for target in targets(path) if not is_in(target, BELOW)}
        left.setdefault(package, set()).update(found - {package})
    while left:
        ends = [package for package, found in left.items() if not found & left.keys()]
        assert ends, f"a circle among {sorted(left)}"
        for package in ends:
            del left[package]


RECURSIONS = {
    frozenset(f"views.render.tree.{name}" for name in ("metrics", "records", "tree")): "a branch is a tree",
    frozenset(f"streams.tls.{name}" for name in ("cutter", "session", "side")): "each says to which it belongs",
    frozenset(
        f"protocol.wire.{name}"
        for name in (
            "language.payload", "language.types", "nodes", "nodes.leaves", "readings.annotate", "readings.codegen",
            "readings.compiled", "readings.inspection", "readings.measure", "readings.runtime", "readings.secrets",
            "records", "records.sets", "records.spans",
        )
    ): "bytes, which are a leaf, may hold payloads, which have a grammar of their own; so does what construct parses",
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
        if is_in(name_of(path), {"protocol.grammars"}):
            assert not [name for name in imports(path) if name.split(".")[0] == "construct"], path


def test_scapy_is_imported_by_two_files_and_asked_by_its_public_names() -> None:
    """Another release of it may change all else; captures without tunnels are read without it."""
    using = [path for path in FILES if any(name.split(".")[0] == "scapy" for name in imports(path))]
    assert [str(path.relative_to(ROOT)) for path in using] == ["capture/tunnels.py", "live/interface.py"]
    assert [name for path in using for name in private(path) if not name.startswith("self.")] == []


def test_files_are_read_and_lines_printed_where_they_should_be() -> None:
    for path in FILES:
        found = source(path)
        if not is_in(name_of(path), {"ui.cli"}):
            assert not found.called & {"print", "input", "sys.exit"}, path
        if is_in(name_of(path), PURE):
            assert "open" not in found.called, path
            assert not OPENING & {name.split(".")[0] for name in found.imports}, path


def test_every_file_says_what_it_is_for_and_is_short() -> None:
    for path in FILES:
        found = source(path)
        assert found.docstring, f"{path} has no docstring"
        assert found.lines <= LONGEST or str(path.relative_to(ROOT)) in TABLES, path


def test_the_packages_that_rules_name_are_there() -> None:
    """A rule about a package that moved would say nothing."""
    known = {name_of(path) for path in FILES} | kdbg.__dict__.keys() | {"encode"}
    named = {*ARROWS, *PURE, *ANYWHERE, *set[str]().union(*ARROWS.values(), *OWNERS.values())}
    assert sorted(named - known) == []


def test_files_that_texts_name_are_there() -> None:
    known = [f"/kdbg/{path.relative_to(ROOT).as_posix()}" for path in FILES]
    pages = [ROOT / "ui/guide" / name for name in ("internals.md", "adding.md")]
    lost = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in [*FILES, *pages]
        for name in REFERENCE.findall(path.read_text(encoding="utf-8"))
        if not any(one.endswith(f"/{name}") for one in known) and not (ROOT.parent / name).exists()
    }
    assert sorted(lost) == []
