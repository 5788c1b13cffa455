"""The clients that are built or fetched: KafkaJS by npm, franz-go and rskafka as programs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from shutil import copy
from typing import Final

from .installing import CLIENTS, HOME, is_older, locked, program, run

KAFKAJS = "kafkajs@2.2.4"
FRANZ_GO: Final = "github.com/twmb/franz-go@v1.22.2"
STRIPPED = ("-ldflags", "-s -w")


@cache
def kafkajs() -> Path:
    """Return the folder of Node's modules."""
    folder = HOME / "node"
    with locked():
        if not (folder / "node_modules" / "kafkajs").is_dir():
            run(program("npm"), "install", "--silent", "--prefix", str(folder), KAFKAJS)
    return folder / "node_modules"


@cache
def franz_go(*, stripped: bool) -> Path:
    """Return the program of session.go, with its symbols or without."""
    folder, source = HOME / "go", CLIENTS / "session.go"
    built = folder / ("session-stripped" if stripped else "session")
    with locked():
        if is_older(built, source):
            _build_go(folder, source, built, STRIPPED if stripped else ())
    return built


def _build_go(folder: Path, source: Path, built: Path, options: tuple[str, ...]) -> None:
    go = program("go")
    folder.mkdir(exist_ok=True)
    copy(source, folder)
    if not (folder / "go.mod").exists():
        run(go, "mod", "init", "session", folder=folder)
        run(go, "get", FRANZ_GO, folder=folder)
    run(go, "mod", "tidy", folder=folder)
    run(go, "build", *options, "-o", str(built), ".", folder=folder)


@cache
def rskafka(*, stripped: bool) -> Path:
    """Return the program of rust/, with its symbols or without; it takes some minutes to build."""
    folder, project = HOME / "rust", CLIENTS / "rust"
    built, bare = folder / "release" / "session", folder / "session-stripped"
    with locked():
        if is_older(built, project / "Cargo.toml", project / "src" / "main.rs"):
            copied = HOME / "rust-source"
            (copied / "src").mkdir(parents=True, exist_ok=True)
            copy(project / "Cargo.toml", copied)
            copy(project / "src" / "main.rs", copied / "src")
            run(program("cargo"), "build", "--release", folder=copied, CARGO_TARGET_DIR=str(folder))
            built.touch()
        if stripped and is_older(bare, built):
            run(program("strip"), "-o", str(bare), str(built))
    return bare if stripped else built
