"""Some fields of a body are what the whole body has under these names."""

from __future__ import annotations

import kdbg
from kdbg.exchanges.messages.message import front_of
from kdbg.protocol import grammars
from kdbg.protocol.wire.language import DIRECTIONS, Direction

from ...cases import for_each


@for_each("api", [api for api in grammars.apis() if api.key >= 0], ids=lambda api: api.name)
def test_each_field_alone_is_what_the_whole_body_has(api: kdbg.Api) -> None:
    for direction in DIRECTIONS:
        for version in api.versions:
            each_field(api, version, direction)


def each_field(api: kdbg.Api, version: int, direction: Direction) -> None:
    try:
        data = kdbg.encode({}, api=api.key, version=version, direction=direction, header={"correlation_id": 1})
    except kdbg.BuildError:
        return
    body = kdbg.decode(data, api=api.key, version=version, direction=direction).body
    for field in api.at(direction, version).fields:
        read = front_of(api, version, direction, (field.name,))
        assert read is not None
        assert read(data)[field.name] == body[field.name]
    nothing = front_of(api, version, direction, ("nothing_of_that_name",))
    assert nothing is not None
    assert nothing(data) == {}
