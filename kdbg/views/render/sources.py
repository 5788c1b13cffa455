"""The source of generated readings, for whoever wants to see what runs: `kdbg grammar fetch --version 4 --source`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Node, WireStruct
from ...protocol.wire.readings.compiled import message_reader
from ...protocol.wire.readings.outline_codegen import facts_reader
from .style import Look

SOURCES = ("values", "facts", "json", "tree", "hex")
"""The readings by their names."""


def generated(name: str, header: Node, body: WireStruct) -> Callable[..., Any] | None:
    """Return a reading of messages of this layout; None where they are read by their values."""
    if name == "values":
        return message_reader(header, body)
    if name == "facts":
        return facts_reader(header, body)
    if name == "json":
        from .json_source import json_writer

        return json_writer(header, body)
    if name == "tree":
        from .tree.lines import Texts as TreeTexts
        from .tree.source import drawing
        from .tree.tree import Tree

        return drawing(TreeTexts(Tree(Look(), {})), header, body, "")
    from .hex.blocks import Texts
    from .hex.source import gathering

    return gathering(Texts(Look(), {}), header, body)


def source_of(api: Api, version: int, direction: Direction, name: str) -> str:
    """Return the source of a reading of one message, that of the readings which it calls in front of it."""
    header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
    made = generated(name, header, grammar_of(api, version, direction))
    title = f"# {api.name} {direction} v{version}, {name}"
    if made is None:
        return f"{title}: none; this layout is read by its values\n"
    return "\n\n".join([title, *dict.fromkeys(_sources(made))]) + "\n"


def _sources(made: Callable[..., Any]) -> Iterator[str]:
    """Yield the sources of the generated functions that one calls, then its own."""
    inner = made.func if isinstance(made, partial) else made
    for name, value in list(inner.__globals__.items()):
        called = value.func if isinstance(value, partial) else value
        if called is not inner and hasattr(called, "source"):
            yield f"# {name}"
            yield from _sources(called)
    constants = [f"{name} = {value!r}" for name, value in inner.__globals__.items() if isinstance(value, bytes)]
    if constants:
        yield "\n".join(constants)
    yield inner.source  # type: ignore[attr-defined]
