"""What kdbg knows of each version of each API, and what has proved it: tables and JSON objects.

Everything shown is a release (grammars/releases.py) or a proof (grammars/generated); nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...protocol.grammars import payloads as grammars
from ...protocol.grammars.generated import BROKERS, of_api, of_brokers, of_payload, of_payloads
from ...protocol.grammars.releases import since, until
from ...protocol.wire.language import DIRECTIONS, Api, Direction
from .columns import aligned, wrap
from .style import Look

WIDEST = 30
"""Letters of a name that the table makes room for."""
EVERY, SOME, NONE = "●", "◐", "·"
ONE_SIDE = {"request": "→", "response": "←"}
OF_APIS = {EVERY: "every version, requests and responses", SOME: "some versions", NONE: "none"}
OF_VERSIONS = {EVERY: "request and response", "→": "request only", "←": "response only", NONE: "neither"}
"""What the marks mean, in the table of APIs and in that of one API's versions."""
CAN = ("decode", "explain", "encode", "grammar", "send")
"""What every version can be put to."""


class ProofKind(NamedTuple):
    """A kind of proof: its letter in the tables, its name in JSON, what it means."""

    letter: str
    name: str
    meaning: str


KINDS = (
    ProofKind("L", "layouts", "field layout equals Kafka's message definitions, 0.8 to 4.2"),
    ProofKind("J", "java", "Kafka's generated classes (4.4, 3.9) decode and encode the same bytes"),
    ProofKind("K", "kio", "kio decodes and encodes the same bytes"),
    ProofKind("P", "kafka-python", "kafka-python decodes and encodes the same bytes"),
    ProofKind("B", "brokers", "a Kafka broker responded, and the response was decoded to its last byte"),
    ProofKind("C", "clients", "bytes of real clients, and the responses of real brokers, are in the tests"),
    ProofKind("V", "vectors", "recorded in the test suites of public clients, decoded and encoded again"),
)


def holds(kind: str, api: str, direction: Direction, version: int) -> bool:
    """Return whether there is a proof of this kind for one message at one version."""
    if kind == BROKERS:
        return any(version in versions[direction] for versions in of_brokers(api).values())
    return kind in of_api(api) and version in of_api(api)[kind][direction]


def proofs(api: str, direction: Direction, version: int) -> list[str]:
    """Return the names of the kinds of proof that there are for one message at one version."""
    return [kind.name for kind in KINDS if holds(kind.name, api, direction, version)]


def brokers(api: str, version: int) -> list[str]:
    """Return the Kafka releases whose brokers answered a request of this version."""
    return [release for release, versions in of_brokers(api).items() if version in versions["response"]]


def overview(apis: Iterable[Api], look: Look) -> str:
    """Return a table with a line for each API, and the legend of its letters and marks."""
    rows = [("key", "name", "versions", "Kafka", " ".join(kind.letter for kind in KINDS))]
    for api in apis:
        marks = []
        for kind in KINDS:
            proved = [holds(kind.name, api.name, side, version) for side in DIRECTIONS for version in api.versions]
            marks.append(EVERY if all(proved) else SOME if any(proved) else NONE)
        rows.append((str(api.key), api.name, _span(api.versions), _lifetime(api, api.versions), " ".join(marks)))
    lines = aligned(rows, look, ("dim", "name", "", "dim", "good"), right=(0,), widest=WIDEST)
    return "\n".join([*lines, "", *_legend(look, OF_APIS)]) + "\n"


def one(api: Api, look: Look) -> str:
    """Return a table of one API with a line for each version, with the releases of the brokers that responded."""
    shown = [kind for kind in KINDS if kind.name != BROKERS]
    rows = [("version", "Kafka", " ".join(kind.letter for kind in shown), "brokers that responded")]
    for version in api.versions:
        marks = []
        for kind in shown:
            sides = [direction for direction in DIRECTIONS if holds(kind.name, api.name, direction, version)]
            marks.append(ONE_SIDE[sides[0]] if len(sides) == 1 else EVERY if sides else NONE)
        responded = " ".join(brokers(api.name, version)) or NONE
        rows.append((str(version), _lifetime(api, [version]), " ".join(marks), responded))
    lines = aligned(rows, look, ("", "dim", "good", ""), right=(0,))
    heading = look.paint("heading", f"{api.name} (key {api.key})")
    return "\n".join([heading, "", *lines, "", *_legend(look, OF_VERSIONS)]) + "\n"


def payloads(look: Look) -> str:
    """Return a table with a line for each payload: messages inside messages, records of internal topics, tokens."""
    kinds = [kind for kind in KINDS if kind.name in of_payloads()]
    rows = [("name", "versions", " ".join(kind.letter for kind in kinds))]
    for found in grammars.payloads():
        marks = []
        for kind in kinds:
            proved = of_payload(found.name).get(kind.name, frozenset())
            marks.append(
                NONE if proved.isdisjoint(found.versions) else EVERY if proved.issuperset(found.versions) else SOME
            )
        rows.append((found.name, _span(found.versions), " ".join(marks)))
    lines = aligned(rows, look, ("name", "", "good"))
    said = [(kind.letter, kind.meaning) for kind in kinds]
    legend = {EVERY: "every version", SOME: "some versions", NONE: "none"}
    return "\n".join([*lines, "", *aligned([*said, *legend.items()], look, ("name", "dim"))]) + "\n"


def payload_objects() -> Iterator[dict[str, Any]]:
    """Yield a JSON object with the proofs for each version of each payload."""
    for found in grammars.payloads():
        proved = of_payload(found.name)
        for version in found.versions:
            kinds = [kind.name for kind in KINDS if version in proved.get(kind.name, ())]
            yield {"payload": found.name, "version": version, "proofs": kinds}


def objects(apis: Iterable[Api]) -> Iterator[dict[str, Any]]:
    """Yield a JSON object for each version of each API."""
    for api in apis:
        for version in api.versions:
            yield {
                "api": api.name, "api_key": api.key, "api_version": version, "since": since(api.name, version),
                "until": until(api.name, version), "can": CAN,
                "request": proofs(api.name, "request", version), "response": proofs(api.name, "response", version),
                "brokers": brokers(api.name, version),
            }  # fmt: skip


def _span(versions: range) -> str:
    return f"{versions[0]}-{versions[-1]}" if len(versions) > 1 else str(versions[0])


def _lifetime(api: Api, versions: Sequence[int]) -> str:
    """Return the releases that have these versions, as `0.8.0-3.9`; `0.8.0+` if the newest release has one of them.

    Where no release is known to have any of them, say whether a definition gave the API or it is unreleased.
    """
    first = next(filter(None, (since(api.name, version) for version in versions)), None)
    if first is None:
        return "given" if api.given else "unreleased"
    ends = [until(api.name, version) for version in versions]
    return f"{first}{'+' if None in ends else f'-{ends[-1]}'}"


def _legend(look: Look, marks: Mapping[str, str]) -> list[str]:
    said = [*((kind.letter, kind.meaning) for kind in KINDS), *marks.items()]
    commands = ", ".join(f"`kdbg\xa0{word}`" for word in CAN)  # no-break spaces: a command stays on one line
    supporting = wrap(f"Commands that support every version: {commands}.", look.width)
    return [*aligned(said, look, ("name", "dim")), "", *supporting]
