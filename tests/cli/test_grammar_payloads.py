"""`kdbg grammar` of payloads, as a user runs it: one version, all versions, two compared, the list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import known, payloads
from kdbg.views.render.grammar import special_sheets
from kdbg.views.render.typetext import types

from .calls import Outcome

SUBSCRIPTION_1 = """\
ConsumerProtocolSubscription (Version: 1) => version [topics] user_data [owned_partitions]
  version => INT16
  topics => STRING
  user_data => NULLABLE_BYTES
  owned_partitions => topic [partitions]
    topic => STRING
    partitions => INT32

# Also seen: version 1 laid out as version 0, by kafka-go, KafkaJS 1, Kayrock or
# sarama-cluster.
"""
PRINCIPAL = """\
The principal of a forwarded request: who had sent the request that an Envelope
holds (KIP-590).

Kafka's own principal builder writes it so; a broker with another builder may
write anything.

name      DefaultPrincipalData
versions  0, flexible from 0

v0  first version
"""


def unwrapped(text: str) -> str:
    """The text with each comment on one line."""
    return re.sub(r"\n# {3,}", " ", text)


@pytest.fixture
def grammar(cli: Callable[..., Outcome]) -> Callable[..., str]:
    """What the command prints where all is well."""

    def printed(*words: str) -> str:
        done = cli("grammar", *words)
        assert (done.status, done.err) == (0, "")
        return done.out

    return printed


@pytest.mark.parametrize("name", ["consumer-protocol-subscription", "ConsumerProtocolSubscription"])
def test_a_version_with_the_version_in_front(name: str, grammar: Callable[..., str]) -> None:
    text = grammar(name, "--version", "1")
    assert re.sub(r"(?m)(^# .*\n)+^#\n", "", text) == SUBSCRIPTION_1
    assert re.search(r"(?m)^# user_data .*may contain a payload: kdbg grammar payloads; default null", unwrapped(text))


def test_all_versions_of_a_payload(grammar: Callable[..., str]) -> None:
    assert grammar("default-principal-data") == PRINCIPAL
    lines = grammar("OffsetCommitValue").splitlines()
    assert "aliases   LegacyOffsetCommitValue" in lines
    assert lines[-5:] == [
        "v0  first version", "v1  + expire_timestamp", "v2  - expire_timestamp", "v3  + leader_epoch",
        "v4  flexible (KIP-482), + topic_id<tag: 0>",
    ]  # fmt: skip
    assert grammar("ConsumerProtocolAssignment").splitlines()[-1] == "v3  = v2"


def test_two_versions_compared(grammar: Callable[..., str]) -> None:
    assert grammar("offset-commit-value", "--diff", "2", "3") == (
        "OffsetCommitValue (Version: 2 → 3)\n  + leader_epoch  INT32\n"
    )


def test_forms_of_older_releases_and_secrets_are_told(grammar: Callable[..., str]) -> None:
    text = grammar("UserScramCredentialRecord", "--version", "0")
    assert re.search(r"(?m)^# salt .*secret: shown only with --show-secrets$", unwrapped(text))
    assert "# Also seen: version 0 as written by Kafka 3.4.\n# Also seen: version 0 as written by Kafka 2.8.\n" in text


def test_the_list_has_every_payload_below_what_it_is(grammar: Callable[..., str]) -> None:
    text = grammar("payloads")
    assert re.findall(r"(?m)^  (\w+) ", text) == [found.name for found in payloads()]
    assert "\n\nRecords of transactions in `__transaction_state`: " in text
    assert text.endswith("\n`kdbg grammar NAME` describes one of them.\n")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_json_has_the_same_as_objects(grammar: Callable[..., str]) -> None:
    listed = [json.loads(line) for line in grammar("payloads", "--format", "json").splitlines()]
    assert [entry["payload"] for entry in listed] == [found.name for found in payloads()]
    one = json.loads(grammar("OffsetCommitValue", "--format", "json"))
    assert (one["min_version"], one["max_version"], one["flexible_from"]) == (0, 4, 4)
    assert one["changes"][0] == {"version": 1, "same_layout": False, "changes": ["+ expire_timestamp"]}
    (sheet,) = map(json.loads, grammar("OffsetCommitValue", "--version", "3", "--format", "json").splitlines())
    assert sheet["title"] == "OffsetCommitValue (Version: 3)"
    assert [field["path"] for field in sheet["fields"]] == [
        "version", "offset", "leader_epoch", "metadata", "commit_timestamp",
    ]  # fmt: skip


def test_no_name_means_a_payload_and_something_else() -> None:
    """An API's name, an alias, or the name of headers and record sets would hide the payload."""
    for entry in grammars.ENTRIES.values():
        assert not [name for name in (entry.name, *entry.aliases) if known(name)]
    taken = {"types", "notation", "optional", "bnf"} | {grammars.plain(found.name) for found in types()}
    for name in (*(found.name for found in payloads()), *(entry.name for entry in grammars.ENTRIES.values())):
        assert not special_sheets(name)
        assert grammars.plain(name) not in taken


def test_a_version_that_is_not_there_is_refused(cli: Callable[..., Outcome]) -> None:
    done = cli("grammar", "OffsetCommitValue", "--version", "9")
    assert done.status == 2
    assert "OffsetCommitValue has no version 9; supported: 0 to 4" in done.err
