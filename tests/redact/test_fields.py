"""The registry of what fields hold, against all grammars: what stays is what was meant to, and no line is in vain."""

from __future__ import annotations

from collections.abc import Iterator

from kdbg.protocol.grammars import apis
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.grammars.payloads.sasl_tokens import TOKENS
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.nodes import Node, Sized, children
from kdbg.views.redact.fields import FIELDS, Holds, holds, is_kept

INSIDE = {
    "auth_bytes": TOKENS.values(), "token": TOKENS.values(), "value": list(payloads()),
    "request_principal": list(payloads()),
}  # fmt: skip
"""Fields in which payloads stand, whose names a path then begins with."""


def leaves(node: Node, path: str = "") -> Iterator[tuple[str, Sized]]:
    if isinstance(node, Sized):
        yield path, node
    for child in children(node):
        yield from leaves(child.node, f"{path}.{child.key}".strip(".") if child.key else path)


def every_field() -> set[tuple[str, Sized]]:
    found: set[tuple[str, Sized]] = set()
    for api in apis():
        for side in DIRECTIONS:
            for version in api.versions:
                for grammar in (api.at(side, version), *(form for _, form in api.dialects_of(side, version))):
                    found |= set(leaves(grammar))
    for outside, kinds in INSIDE.items():
        for kind in kinds:
            for version in kind.versions:
                reading = kind.reading(version)
                for form in (reading, *reading.former):
                    found |= set(leaves(form.grammar, outside))
    return found


EVERY = every_field()


def test_every_line_of_the_registry_is_about_a_field() -> None:
    paths = {path for path, _ in EVERY} | {"headers.value"}
    for key in FIELDS:
        assert any(path == key or path.endswith(f".{key}") for path in paths), key


def test_no_secret_and_no_bytes_stay() -> None:
    for path, node in EVERY:
        if node.kind == "secret" or not node.text:
            assert holds(path, node) is Holds.VALUE, path


def test_names_of_topics_and_groups_are_names_wherever_they_stand() -> None:
    for path, node in EVERY:
        if node.kind in ("topic", "group"):
            assert holds(path, node) is Holds.NAME, path


def test_who_and_where_somebody_is_never_stays() -> None:
    ends = ("client_id", "host", "user", "member_id", "principal", "rack", "cluster_id", "transactional_id", "log_dir")
    found = [(path, node) for path, node in EVERY if path.endswith(ends)]
    assert len(found) > len(ends)
    for path, node in found:
        assert not is_kept(holds(path, node), "warehouse.internal"), path


def test_kafkas_own_words_stay_where_they_are_due() -> None:
    assert is_kept(Holds.WORD, "cooperative-sticky")
    assert is_kept(Holds.WORD, "range,roundrobin")
    assert not is_kept(Holds.WORD, "our-assignor")
    assert is_kept(Holds.SETTING, "retention.ms")
    assert not is_kept(Holds.SETTING, "Secret Name")
    assert is_kept(Holds.NAME, "__consumer_offsets")
    assert not is_kept(Holds.NAME, "consumer")
    for words in KAFKAS.values():
        for word in words.split():
            assert is_kept(Holds.WORD, word), word
            assert not is_kept(Holds.WORD, f"{word}-x"), word
    for held in Holds:
        assert is_kept(held, "")
        assert is_kept(held, "*")
        assert not is_kept(held, "our warehouse") or held is Holds.VALUE


KAFKAS = {
    "types of groups and protocols": "consumer connect share streams classic",
    "assignors": "range roundrobin sticky cooperative-sticky uniform stream",
    "Connect's protocols": "default compatible sessioned",
    "states of groups": "Unknown PreparingRebalance CompletingRebalance Stable Dead Empty Assigning Reconciling "
    "NotReady AwaitingSync",
    "states of transactions": "Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort PrepareEpochFence",
    "kinds of entities and principals": "user client-id ip User Group",
    "listeners": "PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL CONTROLLER BROKER INTERNAL EXTERNAL REPLICATION CLIENT",
    "mechanisms": "PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER GSSAPI",
    "features": "metadata.version kraft.version transaction.version group.version eligible.leader.replicas.version "
    "share.version streams.version",
}
MARKS = (
    "n y biws eSws true 4096 15000 123456 p=tls-unique p=tls-server-end-point p=tls-exporter invalid-encoding "
    "extensions-not-supported invalid-proof channel-bindings-dont-match server-does-support-channel-binding "
    "channel-binding-not-supported unsupported-channel-binding-type unknown-user invalid-username-encoding "
    "no-resources other-error"
)


def test_marks_of_sasl_and_what_software_calls_itself_stay() -> None:
    for mark in MARKS.split():
        assert is_kept(Holds.MARK, mark), mark
    for other in ("123", "1234567", "p=else", "nobody", "otherXerror", "false"):
        assert not is_kept(Holds.MARK, other), other
    for name in ("a", "apache-kafka-java", "4.1.0", "librdkafka.1"):
        assert is_kept(Holds.SOFTWARE, name), name
    for other in ("-a", "a-", "my app", ".", "a/b"):
        assert not is_kept(Holds.SOFTWARE, other), other
    for key in ("retention.ms", "consumer_byte_rate", "a-b"):
        assert is_kept(Holds.SETTING, key), key
    for other in ("retention", "Retention.ms", "retention.", "1a.b", "a..b"):
        assert not is_kept(Holds.SETTING, other), other
