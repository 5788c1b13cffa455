"""What the tests show of which messages and payloads: the evidence for what `kdbg coverage` says.

Nothing of it is written by hand: the tests hold every proof to its evidence, and fail where one is short of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import kdbg
from kdbg.protocol import grammars
from kdbg.protocol.grammars.generated import of_api, of_brokers, of_payload, of_payloads
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.readings.layout import layout

from .. import facts
from ..conftest import SHARED
from ..peers.dice import Message

Evidence = set[Message]
Payloads = set[tuple[str, int]]
"""Payloads by name and version."""
BROKER = "broker "
"""In front of a release: the kind of proof that its broker gave."""


class Claims(NamedTuple):
    """What is proved by each kind of proof, of messages and of payloads."""

    messages: dict[str, Evidence]
    payloads: dict[str, Payloads]


CAPTURES = Path(__file__).resolve().parents[2] / "captures"
SCRIPTED = {"controlled-shutdown"}
"""The captures whose clients are scripts."""


def layouts() -> Evidence:
    """Messages laid out as Kafka's definitions say."""
    from ..grammars.test_layouts import expected, newly_named

    found = {
        Message(row["api_key"], row["type"], row["version"]): newly_named(
            row["api_key"], row["type"], row["version"], expected(row["rows"])
        )
        for row in facts.layouts()
    }
    return {message for message, fact in found.items() if list(layout(message.grammar)) == fact}


def kio() -> Evidence:
    from ..peers.test_kio import MESSAGES

    return set(MESSAGES)


def kafka_python() -> Evidence:
    from ..peers import test_kafka_python, test_kafka_python_old

    return {*test_kafka_python.MESSAGES, *test_kafka_python_old.MESSAGES}


def vectors() -> Evidence:
    """Messages that stand in the test suites of clients."""
    from ..grammars.test_vectors import clean, public

    return {Message(row["api_key"], row["direction"], row["version"]) for row in clean(public())}


def said() -> Iterator[kdbg.Message]:
    """What real clients wrote and real brokers answered them, in the captures that come along."""
    for path in sorted(CAPTURES.glob("*.pcap*")):
        real = {"request": path.stem not in SCRIPTED, "response": path.stem.startswith("real-")}
        for exchange in kdbg.read(path):
            yield from (message for message in exchange.messages() if real[message.direction] and not message.findings)


def clients() -> Evidence:
    return {Message(it.api.key, it.direction, it.version) for it in said() if not it.api.headerless}


def payload_layouts() -> Payloads:
    """Payloads laid out as Kafka's definitions say, each as the release that its row was taken from has it."""
    from kdbg.protocol.grammars.payloads import payload

    from ..grammars.payloads.test_layouts import release, version_of
    from ..grammars.test_layouts import expected

    rows = [row for row in facts.payload_layouts() if row["type"] != "header"]
    known = [(payload(row["name"]), version_of(row), row) for row in rows]
    return {
        (found.name, version)
        for found, version, row in known
        if list(layout(found.at(version, release(row["source"])))) == expected(row["rows"])
    }


def payload_clients() -> Payloads:
    """Payloads whose bytes real clients and brokers wrote: in the captures, and those collected by hand."""
    from kdbg.protocol.grammars.payloads import payloads

    from ..grammars.payloads.test_real_bytes import BROKERS, CLIENTS, CONNECT, STREAMS

    known = {found.name: found for found in payloads()}
    bytes_of = [(name, bytes.fromhex(text)) for name, text, _ in (*CLIENTS, *CONNECT, *STREAMS, *BROKERS)]
    bytes_of += [(opened.name, bytes(opened)) for message in said() for opened in message.payloads]
    return {(name, known[name].version_of(data)) for name, data in bytes_of if name in known}


def java() -> tuple[Evidence, Payloads]:
    """What Kafka's own classes know: messages, and payloads."""
    from ..brokers.javamessages import JavaMessages
    from ..brokers.test_java_messages import RELEASES, known
    from ..brokers.test_java_payloads import FORMS, payload_versions, versions

    newer, older = (release.broker_artifacts for release in RELEASES)
    with JavaMessages(newer) as newest, JavaMessages(older) as before:
        messages = set(known(newest)) | set(known(before))
        return messages, payload_versions([*versions(newest, FORMS[0]), *versions(before, FORMS[1])])


def brokers() -> dict[str, Evidence]:
    """What each release's broker answered."""
    import asyncio

    from ..brokers.cluster import start
    from ..brokers.releases import RELEASES
    from ..brokers.test_every_version import answered, sweep

    found = {}
    for release in RELEASES:
        with start(release.version) as cluster:
            found[f"{BROKER}{release.version}"] = answered(asyncio.run(sweep(cluster.brokers[0])))
    return found


EVIDENCE: Mapping[str, Callable[[], Evidence]] = {
    "layouts": layouts, "kio": kio, "kafka-python": kafka_python, "clients": clients, "vectors": vectors,
}  # fmt: skip
"""What can be had without Java."""
OF_PAYLOADS: Mapping[str, Callable[[], Payloads]] = {"layouts": payload_layouts, "clients": payload_clients}
FROM_SHARED = ("vectors",)
"""Those whose evidence stands beside the checkout."""


def proved(kind: str) -> Evidence:
    """What kdbg says is proved by one kind of proof; `broker 3.9.2` is what the broker of that release answered."""
    return {
        Message(key, direction, version)
        for key, entry in grammars.ENTRIES.items()
        for direction, versions in _versions(kind, entry.name).items()
        for version in versions
    }


def _versions(kind: str, api: str) -> Mapping[Direction, Iterable[int]]:
    known = of_brokers(api) if kind.startswith(BROKER) else of_api(api)
    return known.get(kind.removeprefix(BROKER), {})


def proved_payloads(kind: str) -> Payloads:
    """The payloads that kdbg says are proved by one kind of proof."""
    return {(found.name, version) for found in payloads() for version in of_payload(found.name).get(kind, ())}


def found() -> Claims:
    """What can be found out without Java."""
    missing = () if SHARED.is_dir() else FROM_SHARED
    return Claims(
        {kind: find() for kind, find in EVIDENCE.items() if kind not in missing},
        {kind: find() for kind, find in OF_PAYLOADS.items() if kind not in missing},
    )


def claimed() -> Claims:
    """What kdbg says."""
    names = [entry.name for entry in grammars.ENTRIES.values()]
    kinds = {kind for name in names for kind in of_api(name)}
    kinds |= {BROKER + release for name in names for release in of_brokers(name)}
    return Claims(
        {kind: proved(kind) for kind in sorted(kinds)}, {kind: proved_payloads(kind) for kind in sorted(of_payloads())}
    )
