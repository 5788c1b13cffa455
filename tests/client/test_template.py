"""Templates: a body to fill in, for every request that there is."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import kdbg
from kdbg.errors import UnknownVersion
from kdbg.live.client.bodies import template
from kdbg.protocol import grammars
from kdbg.protocol.wire.nodes import WireStruct

from ..cases import for_each

CASES = [pytest.param(api, version, id=f"{api.name}-v{version}") for api in grammars.apis() for version in api.versions]


@for_each(("api", "version"), CASES)
def test_a_template_as_json_is_a_valid_body_with_every_field(api: grammars.Api, version: int) -> None:
    body = orjson.loads(orjson.dumps(template(api, version)))
    data = kdbg.encode(body, api=api.key, version=version, direction="request")
    read = kdbg.decode(data, api=api.key, version=version, direction="request", header=False)
    assert not read.findings
    assert names(body) >= fields(api.at("request", version))


def fields(node: Any) -> set[str]:
    """Every field's name, however deep."""
    node = getattr(node, "struct", node)
    node = getattr(node, "item", node)
    node = getattr(node, "struct", node)
    if not isinstance(node, WireStruct):
        return set()
    known = (*node.fields, *(node.tags or {}).values())
    return {field.name for field in known}.union(*(fields(field.node) for field in known))


def names(value: Any) -> set[str]:
    """Every key in a value."""
    if isinstance(value, list):
        return set[str]().union(*map(names, value))
    return set(value).union(*map(names, value.values())) if isinstance(value, dict) else set()


def test_records_stand_in_the_format_of_their_version() -> None:
    def records(version: int) -> Any:
        return template(grammars.api("produce"), version)["topic_data"][0]["partition_data"][0]["records"]

    assert records(0) == [{"magic": 0, "offset": 0, "key": None, "value": ""}]
    assert records(2)[0]["magic"] == 1
    assert records(9)[0]["records"][0]["headers"] == [{"key": "", "value": ""}]


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(UnknownVersion):
        template(grammars.api("metadata"), 99)
