"""Opened payloads as JSON has them, back to bytes: those that were seen, or those that an edited value makes."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.exchanges.messages.reshape import rebuild
from kdbg.protocol.wire.language.payload import OpenedPayload
from kdbg.views.render.jsonlines import dump

from ..cases import by_day, for_each
from ..cli.calls import SHARED, SHIPPED

OFFSET_KEY = bytes.fromhex("0001 0007 62696c6c696e67 0006 6f7264657273 00000003")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def opened(**changes: Any) -> dict[str, Any]:
    """The key of an offset, as `kdbg decode --format json` prints it, its value changed in these fields."""
    value = {"version": 1, "group": "billing", "topic": "orders", "partition": 3} | changes
    return {"base64": base64.b64encode(OFFSET_KEY).decode(), "payload": "OffsetCommitKey", "value": value}


def without_bytes(value: Any) -> Any:
    """JSON whose payloads have nothing but their values."""
    if isinstance(value, dict):
        kept = {key: without_bytes(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if key != "base64" or "payload" not in kept}
    return [without_bytes(item) for item in value] if isinstance(value, list) else value


def test_bytes_that_say_the_value_stay() -> None:
    assert rebuild(opened()) == OFFSET_KEY


def test_an_edited_value_is_written_anew() -> None:
    assert rebuild(opened(partition=4)) == OFFSET_KEY[:-1] + b"\4"
    assert rebuild(opened(group="b")) == bytes.fromhex("0001 0001 62") + OFFSET_KEY[11:]


def test_a_value_alone_is_enough() -> None:
    given = {
        "payload": "offset-commit-key",
        "value": {"version": 1, "group": "billing", "topic": "orders", "partition": 3},
    }
    assert rebuild(given) == OFFSET_KEY


def test_it_says_which_version_it_is() -> None:
    value = {"payload": "ConsumerProtocolSubscription", "value": {"version": 3, "topics": [], "rack_id": "a"}}
    assert rebuild(value) == bytes.fromhex("0003 00000000 ffffffff 00000000 ffffffff 0001 61")
    del value["value"]["version"]  # type: ignore[attr-defined]
    with pytest.raises(kdbg.BuildError, match="rack_id"):
        rebuild(value)


def test_an_edited_payload_inside_another_changes_both() -> None:
    inner = {"payload": "StickyAssignorUserDataV1", "value": {"generation": 7}}
    outer = {"payload": "ConsumerProtocolSubscription", "value": {"version": 0, "topics": [], "user_data": inner}}
    assert rebuild(outer) == bytes.fromhex("0000 00000000 00000008 00000000 00000007")


def test_a_body_is_left_as_it_was() -> None:
    body = {"topics": [{"name": "orders"}], "more": [1, {"base64": ""}]}
    assert rebuild(body) is body
    given = {"a": [opened(partition=4)], "b": body}
    before = deepcopy(given)
    made = rebuild(given)
    assert made["a"] == [OFFSET_KEY[:-1] + b"\4"]
    assert made["b"] is body
    assert given == before


@for_each(
    ("given", "message"),
    [
        (opened(partition=None), "key.partition: None is not a valid INT32"),
        (opened(partitions=4), "key.partitions: this version has no such field"),
        ([opened(), opened(partition=None)], "key[1].partition: None is not a valid INT32"),
        (opened(version=9), "key.version: OffsetCommitKey has no version 9; supported: 0 to 1"),
        (opened(version="1"), "key.version: OffsetCommitKey has no version '1'; supported: 0 to 1"),
        (opened() | {"base64": "?"}, "key: base64: "),
        ({"payload": "OffsetComitKey", "value": {}}, "key: unknown payload 'OffsetComitKey'; did you mean Offset"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_said_with_its_place(given: Any, message: str) -> None:
    with pytest.raises(kdbg.BuildError) as refused:
        rebuild({"key": given})
    assert str(refused.value).startswith(message)


def test_bytes_of_a_payload_that_nobody_knows_are_themselves() -> None:
    assert rebuild(opened() | {"payload": "of another kdbg"}) == OFFSET_KEY


def test_what_is_hidden_is_missed() -> None:
    data = {"hidden": 9, "payload": "PlainMessage", "value": {"password": {"hidden": 3}}}
    with pytest.raises(kdbg.BuildError, match="auth_bytes: redacted in this JSON"):
        kdbg.encode({"auth_bytes": data}, api="SaslAuthenticate", version=0, direction="request")


@given(JSON, st.sampled_from(["OffsetCommitKey", "TopicRecord", "ConsumerProtocolAssignment", "none"]))
def test_junk_is_refused_in_words(value: Any, name: str) -> None:
    body = {"protocols": [{"name": "range", "metadata": {"payload": name, "value": value}}]}
    with suppress(kdbg.KdbgError):
        kdbg.encode(body, api="JoinGroup", version=5, direction="request")


@pytest.mark.parametrize("capture", by_day([*SHIPPED, *SHARED], 2), ids=lambda path: path.name)
def test_in_real_traffic_the_values_make_the_same_bytes(capture: Path) -> None:
    for exchange in kdbg.read(capture):
        for message in exchange.messages():
            for payload in message.payloads:
                assert isinstance(payload, OpenedPayload)
                shown = json.loads(dump({"it": payload}, show_secrets=True))
                assert rebuild(shown) == {"it": payload}
                if "zstd" not in payload.name:  # another compressor finds other bytes for the same
                    assert rebuild(without_bytes(shown)) == {"it": payload}
