"""Names of spans and attributes are those of OpenTelemetry's conventions, as its own package has them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable

import opentelemetry.semconv._incubating.attributes as incubating
import opentelemetry.semconv.attributes as stable
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MessagingOperationTypeValues
from opentelemetry.semconv.schemas import Schemas

from kdbg.scale.signals.attributes import OPERATIONS, SCHEMA_URL
from kdbg.ui.guide import text

from ..cli.calls import CAPTURES, SHIPPED, Outcome
from .received import request_of, spans_in

Cli = Callable[..., Outcome]
ATTRIBUTE = re.compile(r'^[A-Z0-9_]+: Final = "([^"]+)"(?:\n"""\n(.*?)\n""")?', re.MULTILINE | re.DOTALL)


def known_names() -> set[str]:
    """The attributes of the conventions, without those that are deprecated."""
    found = set[str]()
    for package in (incubating, stable):
        for module in pkgutil.iter_modules(package.__path__):
            source = inspect.getsource(importlib.import_module(f"{package.__name__}.{module.name}"))
            found |= {name for name, about in ATTRIBUTE.findall(source) if not about.startswith("Deprecated:")}
    return found


def test_the_schema_and_the_operations_are_those_of_the_conventions() -> None:
    assert SCHEMA_URL in {schema.value for schema in Schemas}
    assert {kind for _, kind in OPERATIONS.values()} <= {one.value for one in MessagingOperationTypeValues}


def test_every_attribute_is_of_the_conventions_or_listed_in_the_guide(cli: Cli) -> None:
    known, page, found = known_names(), text("telemetry"), dict[str, str]()
    assert "messaging.operation" not in known, "deprecated"
    tls = CAPTURES / "tls" / "real-tls-1.3.pcap"
    for path, *keys in [*((path,) for path in SHIPPED), (tls, "--tls-keys", tls.with_suffix(".keys"))]:
        for one in spans_in(cli("export", path, "--otlp", "-", *keys).out):
            found |= dict.fromkeys([*one.attributes, *one.resource], path.name)
            for event in one.span.get("events", ()):
                found |= dict.fromkeys([each["key"] for each in event.get("attributes", ())], path.name)
    assert len(found) > 50
    assert "tls.cipher" in found
    ours = {name for name in found if name not in known}
    assert all(name.startswith("kafka.") for name in ours), ours
    assert {name for name in ours if f"`{name}`" not in page} == set()


def test_spans_of_messaging_operations_are_named_by_operation_and_topic(cli: Cli) -> None:
    outcome = cli("export", CAPTURES / "errors.pcap", "--otlp", "-")
    spans = [one for one in spans_in(outcome.out) if "messaging.operation.type" in one.attributes]
    named = {
        (one.span["name"], one.span["kind"], one.attributes["messaging.operation.type"], one.attributes["kafka.api"])
        for one in spans
    }
    assert named == {
        ("send orders", 3, "send", "Produce"), ("poll orders", 3, "receive", "Fetch"),
        ("commit orders", 3, "settle", "OffsetCommit"),
    }  # fmt: skip
    for one in spans:
        words = [one.attributes["messaging.operation.name"], one.attributes["messaging.destination.name"]]
        assert one.span["name"] == " ".join(words)
        assert one.attributes["messaging.system"] == "kafka"
        assert {"server.address", "server.port", "messaging.client.id"} <= one.attributes.keys()


def test_a_line_of_a_file_has_the_schema(cli: Cli) -> None:
    import json

    first = json.loads(cli("export", CAPTURES / "errors.pcap", "--otlp", "-").out.splitlines()[0])
    assert [scope.schema_url for scope in request_of(first).resource_spans[0].scope_spans] == [SCHEMA_URL]
