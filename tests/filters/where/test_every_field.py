"""Every field of every API, in all its versions, can be asked for by its name, in request and response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.message import grammar_of
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol.grammars import apis
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import WireArray, WireStruct
from kdbg.protocol.wire.readings.layout import structure

from ...grammars.values import full

pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
from kdbg.exchanges.filters.where.expression import Expression

from ...cases import for_each

APIS = [api for api in apis() if len(api.versions)]


def paths(grammar: WireStruct, value: dict[str, Any], front: str, depth: int = 0) -> Iterator[str]:
    """Yield expressions that are true of a value: each asks for one field, through arrays by loops."""
    for field in grammar.members:
        if field.name not in value:
            continue
        here = f"{front}.{field.name}"
        yield f"has({here})"
        inner, below = structure(field.node), value[field.name]
        if inner is None or not below:
            continue
        if isinstance(field.node, WireArray):
            name = f"x{depth}"
            yield from (f"{here}.exists({name}, {one})" for one in paths(inner, below[0], name, depth + 1))
        else:
            yield from paths(inner, below, here, depth)


def exchange(api: Api, version: int) -> Exchange:
    """Return an exchange of messages with everything in them."""
    made = Exchange(Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092)), api, version, 7, "x")
    for side in DIRECTIONS:
        if api.reads(side, version):
            body = full(grammar_of(api, version, side))
            data = kdbg.encode(body, api=api.key, version=version, direction=side, header={"correlation_id": 7})
            half = CapturedMessage(data, (100, 200), (1, 2), side)
            half.api, half.version = api, version
            setattr(made, side, half)
    return made


def asked(api: Api, side: Direction) -> Iterator[tuple[int, str]]:
    """Yield each expression of a side once, with the newest version that has the field."""
    done: set[str] = set()
    for version in reversed(api.versions):
        if api.reads(side, version):
            grammar = grammar_of(api, version, side)
            new = [one for one in paths(grammar, full(grammar), side) if one not in done]
            done.update(new)
            yield from ((version, one) for one in new)


@for_each("api", APIS, ids=lambda api: api.name)
def test_every_field(api: Api) -> None:
    seen: dict[int, Exchange] = {}
    for side in DIRECTIONS:
        for version, text in asked(api, side):
            if version not in seen:
                seen[version] = exchange(api, version)
            assert Expression(text).check({})(seen[version]), f"{api.name} v{version}: {text}"
