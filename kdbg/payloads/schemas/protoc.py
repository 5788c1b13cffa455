"""Protobuf files -> descriptors, by the compiler of the package `grpcio-tools`, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ...extras import install
from ..values.schema import Reference, Schema
from ..values.value import Unread
from .serialized import file_in, linked

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
        raise Unread(f".proto files need the package grpcio-tools: {install('schemas')}")
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
