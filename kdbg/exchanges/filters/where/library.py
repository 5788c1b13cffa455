"""The library that knows the language: it parses, checks types, and evaluates what is not done here.

Its types of names are given in its own notation. All it raises comes out as `InputError`, in the words of a person.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from ....errors import InputError
from ....extras import install
from .semantics import Undecided

OPERATORS = {"_+_": "a0 + a1", "_-_": "a0 - a1", "_*_": "a0 * a1", "_/_": "a0 / a1", "_%_": "a0 % a1", "-_": "-a0"}
WORDS = {"@in": "in", "!_": "!", "-_": "-", "_?_:_": "? :", "_[_]": "[ ]"}
SAID = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")
MISMATCH = re.compile(r"found no matching overload for '([^']*)' applied to '(.*)'")
SYNTAX = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"mismatched input '<EOF>' expecting ('[^']*')$", "the expression ends where {} is expected"),
        (r"mismatched input '<EOF>'", "the expression ends where a value is expected"),
        (r"missing ('[^']*') at '<EOF>'", "the expression ends where {} is expected"),
        (r"missing ('[^']*') at ('.*')", "expected {} before {}"),
        (r"recognition error at: '[\"']", "unclosed quotation mark, or an invalid escape sequence after it"),
        (r"recognition error at: '= *'", "unexpected '='; compare with =="),
        (r"recognition error at: '=~'", "unexpected '=~'; compare with matches(), as in client_id.matches('shop.*')"),
        (r"input ('(?i:and|or|not|is|like)') ", "unexpected {}; the operators are &&, ||, !, ==, != and in"),
        (r"no viable alternative at input ('.')", "expected a name after {}"),
        (r"no viable alternative at input ('.*')", "no valid expression at {}"),
        (r"(?:input|recognition error at:) ('.*?')(?: expecting|$)", "unexpected {}"),
        (r"reserved identifier: (.*)", "{} is a reserved word"),
        (r"invalid int literal", "the number is not a 64-bit integer"),
    )
]
"""What the library says of a mistake, and what is said of it here."""


def compiled(text: str, types: Mapping[str, str]) -> bytes:
    """Parse an expression and check its types; return it as the library serializes it.

    Raise `InputError` for one that is wrong, or must not be so large, and where the library is not installed.
    """
    try:
        checked = _environment(tuple(types.items())).compile(text)
        result = checked.return_type().name().lower()
        serialized: bytes = checked.serialize()
    except RuntimeError as error:
        raise InputError(_error_line(str(error), types)) from None
    if result not in ("bool", "dyn"):
        raise InputError(f"a filter must be true or false, but this is a {result}: compare it with a value")
    return serialized


def function(name: str, count: int, *, method: bool) -> Callable[..., Any]:
    """Return a function or operator of the language of `count` values; where it has no answer it raises `Undecided`."""

    def call(*values: Any) -> Any:
        try:
            run = _evaluator(name, count, method, tuple(map(_type_of, values)))
            found = run.eval(data={f"a{i}": _given(value) for i, value in enumerate(values)})
            if found.type().name().lower() in ("error", "unknown"):
                raise Undecided
            return _converted(found.plain_value())
        except (RuntimeError, TypeError, ValueError, OverflowError):
            raise Undecided from None

    return call


@cache
def _evaluator(name: str, count: int, method: bool, types: tuple[str, ...]) -> Any:
    args = [f"a{i}" for i in range(count)]
    called = f"{args[0]}.{name}({', '.join(args[1:])})" if method else f"{name}({', '.join(args)})"
    return _environment(tuple(zip(args, types, strict=True))).compile(OPERATORS.get(name, called))


def _type_of(value: Any) -> str:
    """Return the type to declare for a value: the library takes times and durations for nothing else."""
    return "timestamp" if isinstance(value, datetime) else "duration" if isinstance(value, timedelta) else "dyn"


@cache
def _environment(types: tuple[tuple[str, str], ...]) -> Any:
    """Return what compiles expressions over names of these types."""
    cel = _library()
    return cel.NewEnv(variables={name: _type(cel, kind) for name, kind in types})


def _type(cel: Any, notation: str) -> Any:
    """Return a type of the library's: `list(int)`, `map(string, dyn)`, or one that it knows by its name."""
    inside = notation.partition("(")[2][:-1]
    if notation.startswith("list("):
        return cel.Type.List(_type(cel, inside))
    if notation.startswith("map("):
        return cel.Type.Map(*(_type(cel, part) for part in inside.split(", ", 1)))
    return cel.Type(notation)


def _library() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError:
        raise InputError(f"needs the package cel-expr-python; {install('where')}") from None
    return cel


def _given(value: Any) -> Any:
    """Return a value in a type that the library takes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, bytes):
        return bytes(value)
    return list(map(_given, value)) if isinstance(value, (list, tuple, range)) else value


def _converted(value: Any) -> Any:
    """Return what the library gives, in the types that are used here."""
    if isinstance(value, list):
        return list(map(_converted, value))
    return bytes(value) if isinstance(value, bytearray) else value


def _error_line(error: str, names: Mapping[str, str]) -> str:
    """Return in a line what the library says of an expression."""
    found = SAID.search(error)
    if found is None or "recursion" in found[3]:
        return "too deeply nested or too long: write it in fewer steps"
    line, column, text = int(found[1]), int(found[2]), found[3]
    where = f"column {column}" if line == 1 else f"line {line}, column {column}"
    if unknown := UNKNOWN.search(text):
        return f"{where}: {_unknown(unknown[1], names)}"
    if mismatch := MISMATCH.search(text):
        operator = WORDS.get(mismatch[1], mismatch[1].strip("_"))
        kinds = re.sub(r"wrapper\((\w+)\)", r"\1", mismatch[2][1:-1]).replace(", ", " and ")
        return f"{where}: {operator} does not apply to {kinds}"
    for pattern, words in SYNTAX:
        if said := pattern.search(text):
            return f"{where}: {words.format(*said.groups())}"
    return f"{where}: {text}"


def _unknown(name: str, names: Mapping[str, str]) -> str:
    if near := difflib.get_close_matches(name.lower(), names, n=2):
        return f"unknown name {name!r}; did you mean {' or '.join(near)}?"
    return f"unknown name or function {name!r}; known names: {', '.join(names)}"
