"""The mutants of a source file: each is the file's syntax tree with one small fault in it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}  # fmt: skip
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Mutant(NamedTuple):
    """One small fault: where it is, what it changes, and how to make it."""

    line: int
    start: int
    """The first line of its statement."""
    name: str
    """The function or class it stands in, what stands there and what comes in its place; no two in a file alike."""
    place: int
    """The number of the node, in the order of ast.walk."""
    choice: int
    """Which of the node's faults."""

    def tree(self, source: str) -> ast.Module:
        """Return the file's syntax tree with the fault in it."""
        tree = ast.parse(source)
        node = list(ast.walk(tree))[self.place]
        fault = list(faults(node))[self.choice]
        return ast.fix_missing_locations(Swap(node, fault).visit(tree))


class Swap(ast.NodeTransformer):
    """Put another node in the place of one."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the new node where the old one stands, and visit the others."""
        return self.new if node is self.old else self.generic_visit(node)


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    tree = ast.parse(source)
    skipped, scopes, starts = unmeaning(tree), dict(owners(tree)), dict(statements(tree))
    found: list[Mutant] = []
    names: dict[str, int] = {}
    nodes = [(place, node) for place, node in enumerate(ast.walk(tree)) if node not in skipped]
    for place, node in sorted(nodes, key=lambda pair: getattr(pair[1], "lineno", 0)):
        for choice, fault in enumerate(faults(node)):
            name = f"{scopes.get(node, '')}: {shown(node)} → {shown(fault)}"
            names[name] = names.get(name, 0) + 1
            again = f" ({names[name]})" if names[name] > 1 else ""
            line = node.lineno  # type: ignore[attr-defined]
            found.append(Mutant(line, min(line, starts[node]), name + again, place, choice))
    return found


def shown(node: ast.AST) -> str:
    """Return a node as source, on one line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:60] + "…" + text[-39:]


def owners(tree: ast.AST, name: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Give each node with the qualified name of the function or class that it stands in."""
    for child in ast.iter_child_nodes(tree):
        inner = f"{name}.{child.name}".lstrip(".") if isinstance(child, Scope) else name
        yield child, inner
        yield from owners(child, inner)


def statements(tree: ast.AST, start: int = 1) -> Iterator[tuple[ast.AST, int]]:
    """Give each node with the first line of the statement that it stands in."""
    for child in ast.iter_child_nodes(tree):
        inner = child.lineno if isinstance(child, ast.stmt) else start
        yield child, inner
        yield from statements(child, inner)


def unmeaning(tree: ast.Module) -> set[ast.AST]:
    """Return what means nothing when it runs: annotations, docstrings, imports for types, `__slots__`, `__all__`."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()) | ast.AnnAssign(annotation=ast.Name("TypeAlias")):
                roots.append(node)
            case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Assign(targets=[ast.Name("__slots__" | "__all__")]):
                roots.append(node)
            case ast.AnnAssign() | ast.arg():
                roots.append(node.annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                roots += [node.returns, *(each for each in node.decorator_list if shown(each) == "overload")]
            case ast.Call(func=ast.Name("cast" | "TypeVar" | "NewType")):
                roots += node.args[:1]
            case ast.Assign(targets=[ast.Name(name)], value=ast.BinOp(op=ast.BitOr())) if name[0].isupper():
                roots.append(node)  # the name of a type
            case ast.Assign(value=ast.Subscript(value=ast.Name("Literal"))):
                roots.append(node)
    return {node for root in roots if root is not None for node in ast.walk(root)}


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """Give the faults that one node can have."""
    match node:
        case ast.Compare(ops=[op]):
            yield other(node, ops=[COMPARISONS[type(op)]()])
        case ast.BoolOp(op=op):
            yield other(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield other(node, op=ARITHMETIC[type(op)]())
        case ast.Constant():
            yield from constants(node)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield other(node, value=ast.Constant(None))
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield other(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Expr(value=ast.Call()):
            yield ast.copy_location(ast.Pass(), node)
        case ast.Break():
            yield ast.copy_location(ast.Continue(), node)
        case ast.Continue():
            yield ast.copy_location(ast.Break(), node)


def constants(node: ast.Constant) -> Iterator[ast.AST]:
    """Give what a constant may be instead."""
    match node.value:
        case bool():
            yield other(node, value=not node.value)
        case int() | float():
            yield other(node, value=node.value + 1)
            yield other(node, value=node.value - 1)
        case str():
            yield other(node, value=f"{node.value}XX")
        case bytes():
            yield other(node, value=node.value + b"X")


def other(node: ast.AST, **fields: object) -> ast.AST:
    """Return a node that is like this one but for some fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new
