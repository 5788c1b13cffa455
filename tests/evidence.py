"""What the tests show of which messages: the evidence for what `kdbg coverage` says.

    python -m tests.evidence                    write kdbg/grammars/proofs.py anew, but for what needs Java
    python -m tests.evidence java brokers       that too: Kafka's own classes, and a sweep over all brokers

Nothing is written by hand there: the tests hold every proof to its evidence, and fail where one is short of the other.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import kdbg
from kdbg import grammars
from kdbg.grammars import proofs
from kdbg.grammars.releases import parse, spans
from kdbg.wire.language.api import DIRECTIONS
from kdbg.wire.readings.layout import layout

from .conftest import SHARED
from .peers.dice import Message

Evidence = set[Message]
Payloads = set[tuple[str, int]]
"""Payloads by name and version."""

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
SCRIPTED = {"controlled-shutdown"}
"""The captures whose clients are scripts."""
FILE = Path(proofs.__file__)
WIDTH = 112


def layouts() -> Evidence:
    """Messages laid out as Kafka's definitions say."""
    from .grammars.test_layouts import expected

    rows = map(json.loads, (SHARED / "facts" / "layouts.jsonl").read_text().splitlines())
    found = {Message(row["api_key"], row["type"], row["version"]): expected(row["rows"]) for row in rows}
    return {message for message, fact in found.items() if list(layout(message.grammar)) == fact}


def kio() -> Evidence:
    from .peers.test_kio import MESSAGES

    return set(MESSAGES)


def kafka_python() -> Evidence:
    from .peers import test_kafka_python, test_kafka_python_old

    return {*test_kafka_python.MESSAGES, *test_kafka_python_old.MESSAGES}


def vectors() -> Evidence:
    """Messages that stand in the test suites of clients."""
    from .grammars.test_vectors import clean

    rows = list(map(json.loads, (SHARED / "cases" / "public-vectors.jsonl").read_text().splitlines()))
    return {Message(row["api_key"], row["direction"], row["version"]) for row in clean(rows)}


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
    from kdbg.grammars.payloads import payload

    from .grammars.payloads.test_layouts import release, version_of
    from .grammars.test_layouts import expected

    rows = map(json.loads, (SHARED / "facts" / "internal-layouts.jsonl").read_text().splitlines())
    facts = [(payload(row["name"]), version_of(row), row) for row in rows if row["type"] != "header"]
    return {
        (found.name, version)
        for found, version, row in facts
        if list(layout(found.at(version, release(row["source"])))) == expected(row["rows"])
    }


def payload_clients() -> Payloads:
    """Payloads whose bytes real clients and brokers wrote: in the captures, and those collected by hand."""
    from kdbg.grammars.payloads import payloads

    from .grammars.payloads.test_real_bytes import BROKERS, CLIENTS, CONNECT, STREAMS

    known = {found.name: found for found in payloads()}
    bytes_of = [(name, bytes.fromhex(text)) for name, text, _ in (*CLIENTS, *CONNECT, *STREAMS, *BROKERS)]
    bytes_of += [(opened.name, bytes(opened)) for message in said() for opened in message.payloads]
    return {(name, known[name].version_of(data)) for name, data in bytes_of if name in known}


def java() -> dict[str, str]:
    """What Kafka's own classes know: messages, and payloads."""
    from .brokers.javamessages import JavaMessages
    from .brokers.test_java_messages import RELEASES, known
    from .brokers.test_java_payloads import FORMS, payload_versions, versions

    with JavaMessages(RELEASES[0]) as newest, JavaMessages(RELEASES[1]) as before:
        messages = set(known(newest)) | set(known(before))
        payloads = payload_versions([*versions(newest, FORMS[0]), *versions(before, FORMS[1])])
    return {"java": written(messages), "payloads java": written_payloads(payloads)}


def brokers() -> dict[str, str]:
    """What each release's broker answered."""
    import asyncio

    from .brokers.cluster import start
    from .brokers.releases import RELEASES
    from .brokers.test_every_version import answered, sweep

    found = {}
    for release in RELEASES:
        with start(release.version) as cluster:
            found[f"broker {release.version}"] = written(answered(asyncio.run(sweep(cluster.brokers[0]))))
    return found


EVIDENCE: Mapping[str, Callable[[], Evidence]] = {
    "layouts": layouts, "kio": kio, "kafka-python": kafka_python, "clients": clients, "vectors": vectors,
}  # fmt: skip
"""What can be had without Java."""
OF_PAYLOADS: Mapping[str, Callable[[], Payloads]] = {
    "payloads layouts": payload_layouts, "payloads clients": payload_clients,
}  # fmt: skip
SLOW: Mapping[str, Callable[[], dict[str, str]]] = {"java": java, "brokers": brokers}


def proved(kind: str) -> Evidence:
    """What kdbg says is proved by one kind of proof."""
    keys = {entry.name: key for key, entry in grammars.ENTRIES.items()}
    return {
        Message(keys[name], direction, version)
        for name, versions in parse(proofs.PROOFS.get(kind, "")).items()
        for direction in DIRECTIONS
        for version in versions[direction]
    }


def proved_payloads(kind: str) -> Payloads:
    """The payloads that kdbg says are proved by one kind of proof."""
    known = parse(proofs.PROOFS.get(kind, "")).items()
    return {(name, version) for name, versions in known for version in versions["request"]}


def written_payloads(found: Payloads) -> str:
    """The same for payloads, in the order of their names."""
    names = sorted({name for name, _ in found})
    return ", ".join(f"{name} {spans(version for other, version in found if other == name)}" for name in names)


def written(found: Iterable[Message]) -> str:
    """Evidence as `parse` reads it."""
    versions: dict[int, dict[str, set[int]]] = defaultdict(lambda: {direction: set() for direction in DIRECTIONS})
    for message in found:
        versions[message.key][message.direction].add(message.version)
    return ", ".join(f"{grammars.name_of(key)} {_both(sides)}" for key, sides in sorted(versions.items()))


def _both(sides: Mapping[str, set[int]]) -> str:
    request, response = (spans(sides[direction]) for direction in DIRECTIONS)
    return request if request == response else f"{request}/{response}"


def write(found: Mapping[str, str]) -> None:
    """Put the evidence in the place of the proofs that there are of these kinds."""
    head = FILE.read_text().split("PROOFS", 1)[0]
    texts = {**proofs.PROOFS, **found}
    entries = "".join(f'    "{kind}": (\n{_lines(texts[kind])}    ),\n' for kind in sorted(texts))
    FILE.write_text(f"{head}PROOFS: Mapping[str, str] = {{\n{entries}}}\n")


def _lines(text: str) -> str:
    lines = textwrap.wrap(text.replace(" ", "\xa0").replace(",\xa0", ", "), WIDTH - 12, break_on_hyphens=False)
    spaced = [line.replace("\xa0", " ") for line in lines]
    return "".join(f'        "{line} "\n' for line in spaced[:-1]) + f'        "{spaced[-1]}"\n'


if __name__ == "__main__":
    texts = {kind: written(find()) for kind, find in EVIDENCE.items()}
    texts |= {kind: written_payloads(find()) for kind, find in OF_PAYLOADS.items()}
    for word in sys.argv[1:]:
        texts |= SLOW[word]()
    write(texts)
