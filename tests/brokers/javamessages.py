"""The message classes that Kafka generates for itself, behind a pipe: one JVM that reads and writes what it is told to.

`Messages.java` is the other end. Values cross as the JSON of Kafka's own converters and as bytes.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import UUID

from kdbg.protocol.wire.language import Direction, snake_case
from kdbg.protocol.wire.nodes import Fixed, Node, NullableStruct, UuidNode, WireArray, WireStruct
from kdbg.protocol.wire.records import RecordsNode

from ..peers.dice import all_fields, comparable
from .classpath import classpath
from .java import QUICK, java

SOURCE = Path(__file__).with_name("Messages.java")


class JavaError(RuntimeError):
    """What a class of Kafka's had to say against a command."""


class Api(NamedTuple):
    """One message of an API, as ApiMessageType has it: its class, its versions, the header version of each."""

    key: int
    direction: Direction
    name: str
    versions: range
    headers: dict[int, int]


class JavaMessages:
    """The JVM, with the classes of some artifacts; `with` starts and stops it."""

    def __init__(self, artifacts: tuple[str, ...]) -> None:
        self.jars = classpath(artifacts)

    def __enter__(self) -> Self:
        command = [java(), *QUICK, "-Dfile.encoding=UTF-8", "-cp", self.jars, str(SOURCE)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=20)

    def ask(self, *words: object) -> str:
        """The answer to one command."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer or answer.startswith("error"):
            raise JavaError(f"{' '.join(map(str, words[:3]))}: {answer or 'no answer'}")
        return answer

    def apis(self) -> list[Api]:
        """Every message of every API that this release has, the versions still in the making included."""
        return [self._api(*line.split()) for line in self.ask("apis").split(";") if line]

    def _api(self, key: str, direction: Direction, name: str, first: str, last: str, *headers: str) -> Api:
        versions = range(int(first), int(last) + 1)
        return Api(int(key), direction, name, versions, dict(zip(versions, map(int, headers), strict=True)))

    def generated(self) -> list[str]:
        """The full names of all classes that stand for no request and no response: records, headers, user data."""
        classes = [entry for jar in self.jars.split(os.pathsep) if "kafka" in Path(jar).name for entry in entries(jar)]
        ends = "JsonConverter.class"
        names = [entry.removesuffix(ends).replace("/", ".") for entry in classes if entry.endswith(ends)]
        return [name for name in names if not name.endswith(("RequestData", "ResponseData")) and "$" not in name]

    def versions(self, name: str) -> range:
        first, last = map(int, self.ask("versions", name).split())
        return range(first, last + 1)

    def read(self, name: str, version: int, data: bytes) -> tuple[bytes, Any]:
        """What a class reads: the same written again, and as JSON."""
        return self._message(self.ask("read", name, version, data.hex()))

    def random(self, name: str, version: int, seed: int) -> tuple[bytes, Any]:
        """A random message, as bytes and as JSON."""
        return self._message(self.ask("random", name, version, seed))

    def _message(self, answer: str) -> tuple[bytes, Any]:
        data, text = answer.split(" ", 1)
        return bytes.fromhex(data), json.loads(text)


def entries(jar: str) -> list[str]:
    with zipfile.ZipFile(jar) as archive:
        return archive.namelist()


def as_java(node: Node, value: Any) -> Any:
    """A value as Kafka's converters show it: tagged fields with their defaults, sizes in the place of record sets."""
    return _sizes(node, comparable(node, value))


def _sizes(node: Node, value: Any) -> Any:
    if isinstance(node, RecordsNode) and value is not None:
        return len(value)
    return through(node, value, _sizes)


def without_defaults(node: Node, value: Any) -> Any:
    """The value without the tagged fields that have their defaults, which Java never writes."""
    value = through(node, value, without_defaults)
    if isinstance(node, WireStruct):
        for field in (node.tags or {}).values():
            there = field.name in value
            if there and comparable(field.node, value[field.name]) == comparable(field.node, field.default):
                del value[field.name]
    return value


def through(node: Node, value: Any, change: Callable[[Node, Any], Any]) -> Any:
    """The value with everything right inside it changed."""
    if value is None:
        return None
    if isinstance(node, WireArray):
        return [change(node.item, item) for item in value]
    if isinstance(node, NullableStruct):
        return change(node.struct, value)
    if isinstance(node, WireStruct):
        return {field.name: change(field.node, value[field.name]) for field in all_fields(node) if field.name in value}
    return value


def from_java(node: Node, value: Any) -> Any:
    """The JSON of Kafka's converters as kdbg has the value; a name that kdbg has not is a KeyError."""
    return comparable(node, _from_java(node, value))


def _from_java(node: Node, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(node, WireStruct):
        nodes = {field.name: field.node for field in all_fields(node)}
        found = {}
        for java, item in value.items():
            name = snake_case(java[0].upper() + java[1:])
            name = name if name in nodes else name.removesuffix("_size_in_bytes")
            found[name] = _from_java(nodes[name], item)
        return found
    if isinstance(node, UuidNode):
        return UUID(bytes=base64.urlsafe_b64decode(f"{value}=="))
    if isinstance(node, Fixed) and node.code == "d":
        return float(value)
    if isinstance(value, str) and node.bnf.endswith("BYTES"):
        return base64.b64decode(value)
    return through(node, value, _from_java)
