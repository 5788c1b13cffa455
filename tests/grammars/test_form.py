"""Grammar files look alike: a docstring, the words they are written in, a request, a response, an Api, nothing else."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import kdbg
from kdbg.protocol import grammars
from kdbg.protocol.grammars import headers
from kdbg.protocol.wire import Dialect, Struct
from kdbg.protocol.wire.language import Api, snake_case

from ..cases import for_each

FOLDER = Path(kdbg.__file__).parent / "protocol" / "grammars"
SHARED_FILES = {
    "__init__",
    "errors",
    "guides",
    "headers",
    "log_files",
    "meanings",
    "records",
    "releases",
    "sasl",
    "topology",
}
WORDS = {("wire", 2), ("meanings", 1), ("records", 1), ("topology", 1), ("findings.quirks", 2)} | {
    (module, 1) for module in ("payloads", "payloads.holdings", "payloads.sasl_tokens", "payloads.telemetry")
}
"""Where a grammar may import from: (module, how many packages up)."""

every_file = for_each("name", [entry.name for entry in grammars.ENTRIES.values()])


def tree(name: str) -> ast.Module:
    return ast.parse((FOLDER / f"{snake_case(name)}.py").read_text())


def test_there_is_a_file_for_every_api_and_no_other() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")}
    assert files - SHARED_FILES == {entry.module for entry in grammars.ENTRIES.values()}
    assert files >= SHARED_FILES


@every_file
def test_it_begins_by_saying_what_it_is(name: str) -> None:
    first, *rest = (ast.get_docstring(tree(name)) or "").splitlines()
    start = f"{name} (key {grammars.api(name).key}): "
    assert first.startswith(start)
    assert first[len(start)].islower() or first[len(start)].isupper(), "words follow"
    assert first.endswith((".", ";", ",")) or rest, "one sentence, on one line or more"
    assert grammars.about(grammars.api(name)).splitlines()[0] == first


@every_file
def test_it_has_a_request_a_response_an_api_and_helpers(name: str) -> None:
    docstring, *statements = tree(name).body
    assert isinstance(docstring, ast.Expr)
    assigned: list[str] = []
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            assert not assigned, "imports come first"
            continue
        assert isinstance(statement, ast.AnnAssign), ast.unparse(statement)
        assert ast.unparse(statement.annotation) == "Final", "declarations do not change, and type checkers are told"
        target = statement.target
        assert isinstance(target, ast.Name)
        assigned.append(target.id)
    assert len(assigned) == len(set(assigned))
    assert assigned[-1] == "api"
    assert {"request", "response"} <= set(assigned)
    assert assigned.index("request") < assigned.index("response")


@every_file
def test_it_imports_the_words_it_is_written_in_and_nothing_else(name: str) -> None:
    imported = [node for node in ast.walk(tree(name)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert imported
    for node in imported:
        assert isinstance(node, ast.ImportFrom), ast.unparse(node)
        assert (node.module, node.level) in WORDS, ast.unparse(node)


@every_file
def test_what_it_declares_is_what_the_api_reads(name: str) -> None:
    api = grammars.api(name)
    module = import_module(f"kdbg.protocol.grammars.{snake_case(name)}")
    assert isinstance(module.api, Api)
    assert (api.request, api.response) == (module.request, module.response)
    named = [node for node in ast.walk(tree(name)) if isinstance(node, ast.Name)]
    read, own = ({node.id for node in named if isinstance(node.ctx, kind)} for kind in (ast.Load, ast.Store))
    helpers = {key for key in own if isinstance(vars(module)[key], (Struct, Dialect))}
    assert helpers <= read, "every helper is used"


def meanings(file: Path) -> list[ast.BinOp]:
    """Every `field * "what it means"` in a file."""
    found = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.BinOp))
    return [node for node in found if isinstance(node.op, ast.Mult)]


@for_each("file", sorted(FOLDER.rglob("*.py")), ids=lambda file: file.relative_to(FOLDER))
def test_what_a_field_means_stands_behind_it(file: Path) -> None:
    """A plain string on one line: that of the field's end, or the next, which is indented and begins with the `*`."""
    lines = file.read_text().splitlines()
    for node in meanings(file):
        text = node.right
        assert isinstance(text, ast.Constant), ast.unparse(node)
        assert isinstance(text.value, str), ast.unparse(node)
        assert text.lineno == text.end_lineno, text.value
        if text.lineno != node.left.end_lineno:
            assert lines[text.lineno - 1].startswith(" " * (indent(lines[node.left.lineno - 1]) + 4) + '* "'), (
                text.value
            )


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def test_there_are_meanings_to_look_at() -> None:
    assert sum(len(meanings(file)) for file in FOLDER.rglob("*.py")) > 1000


def test_the_headers_are_declared_in_the_same_words() -> None:
    assert isinstance(headers.request, Struct)
    assert isinstance(headers.response, Struct)
