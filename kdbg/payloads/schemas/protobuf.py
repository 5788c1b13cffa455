"""Protobuf schemas: files through the compiler of `grpcio-tools`, and descriptors in base64 that a registry holds."""

from __future__ import annotations

import base64
import binascii
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from ...extras import install
from ..values.framing import Reference, Schema
from ..values.value import Unread


def file_in(schema: Schema) -> Any:
    """Return the descriptor of a file that a schema's text is; None for text that a compiler must read."""
    try:
        data = base64.b64decode(schema.text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if find_spec("google.protobuf") is None:
        return None
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        found = FileDescriptorProto.FromString(data)
    except DecodeError:
        return None
    return found if found.message_type or found.enum_type else None


def linked(schema: Schema, compiled: Callable[[Schema], bytes]) -> bytes:
    """Return a schema that `file_in` reads, and those that it uses, as a serialized FileDescriptorSet, itself last."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files: dict[str, Any] = {}
    _add(file_in(schema), schema, files, compiled)
    return bytes(FileDescriptorSet(file=files.values()).SerializeToString())


def _add(own: Any, schema: Schema, files: dict[str, Any], compiled: Callable[[Schema], bytes]) -> None:
    """Add a file behind those that it uses."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    for name, used in schema.references:
        found = file_in(used)
        if found is None:
            *others, found = FileDescriptorSet.FromString(compiled(used)).file
            files |= {other.name: other for other in others}
        found.name = name
        _add(found, used, files, compiled)
    for name in own.dependency:
        if name not in files:
            files[name] = _known(name)
    files[own.name] = own


def _known(name: str) -> Any:
    """Return one of the files that come with Protobuf; raise `Unread` for any other."""
    from google.protobuf import descriptor_pool
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    if name.startswith("google/protobuf/") and find_spec(module) is not None:
        from importlib import import_module

        import_module(module)
        found = FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(name).CopyToProto(found)
        return found
    raise Unread(f"the schema uses {name} without a reference to it")


SECONDS = 30
MAIN = "schema.proto"
KNOWN = "google/protobuf/"
"""Files that the compiler has itself."""


@lru_cache(maxsize=256)
def compiled(schema: Schema) -> bytes:
    """Return a schema and those that it uses as a serialized FileDescriptorSet, the schema itself last.

    Raise `Unread` in one line for one that does not compile, or without the compiler.
    """
    if file_in(schema) is not None:
        return linked(schema, compiled)
    with tempfile.TemporaryDirectory(prefix="kdbg-") as folder:
        for name, text in {**dict(_files(schema.references)), MAIN: schema.text}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return compiled_file(Path(folder) / MAIN)


def compiled_file(path: Path) -> bytes:
    """Return the same of a file, which imports others by their places below its folder."""
    if find_spec("grpc_tools") is None:
        raise Unread(f".proto files need the package grpcio-tools; {install('schemas')}")
    with tempfile.TemporaryDirectory(prefix="kdbg-") as folder:
        out = Path(folder) / "out"
        command = [
            sys.executable, "-m", "grpc_tools.protoc", f"-I{path.parent.absolute()}", f"-I{_own_files()}",
            "--include_imports", f"--descriptor_set_out={out}", path.name,
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unread(f"the Protobuf compiler failed: {error}") from None
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip() and "arning" not in line]
            raise Unread(f"the schema does not compile: {said[0] if said else f'exit status {done.returncode}'}")
        return out.read_bytes()


def _own_files() -> Path:
    """Return the folder of the files that come with the compiler."""
    import grpc_tools

    return Path(grpc_tools.__path__[0]) / "_proto"


def _files(references: tuple[Reference, ...]) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of files that are imported, and of those that they import."""
    for name, schema in references:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or name == MAIN:
            raise Unread(f"the schema imports {name!r}, which is not a file next to it")
        if not name.startswith(KNOWN):
            yield name, schema.text
        yield from _files(schema.references)
