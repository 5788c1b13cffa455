"""A short run over every target, the same each time; and the checks themselves, on readers broken on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kdbg.errors import InputError

from ..cases import fewer_by_day
from ..test_packages import DIVIDED, FILES, PURE, is_in, name_of, package_of
from . import explore
from .minimise import minimised
from .mutate import mutated
from .targets import TARGETS
from .watch import ROOT, confirmed, watched

FOUND = Path(__file__).parent / "found"
every_target = pytest.mark.parametrize("name", TARGETS)
KNOWN = {"analysis.compare", "protocol.findings", "protocol.grammars"}
"""Packages without a target of their own: they hold declarations, or take what others have read."""


@cache
def seeds(name: str) -> list[bytes]:
    return [data[: TARGETS[name].longest] for data in TARGETS[name].seeds()]


@every_target
def test_nothing_breaks_in_a_short_run(name: str) -> None:
    target, own = TARGETS[name], seeds(name)

    @settings(
        max_examples=fewer_by_day(target.short, 2),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=True))
    def short(dice: Random) -> None:
        data = mutated(dice.choice(own), dice, own, target.longest)
        if watched(target.run, data, target.seconds) is not None:
            trouble = confirmed(target.run, data, target.seconds)
            assert trouble is None, f"{trouble}\n{data.hex()}"

    short()


@pytest.mark.parametrize("path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_once_is_mended(path: Path) -> None:
    target = TARGETS[path.parent.name]
    assert confirmed(target.run, path.read_bytes(), target.seconds) is None


@every_target
def test_a_target_reaches_what_it_is_for(name: str) -> None:
    target, files = TARGETS[name], set[str]()

    def note(frame: FrameType, event: str, argument: object) -> None:
        files.add(frame.f_code.co_filename)

    left = set(target.reaches)
    for data in Random(1).sample(seeds(name), len(seeds(name))):
        sys.setprofile(note)
        try:
            watched(target.run, data)
        finally:
            sys.setprofile(None)
        left = {place for place in left if not any(file.startswith(str(ROOT / place)) for file in files)}
        if not left:
            break
    assert not left


def test_every_package_that_reads_foreign_bytes_has_a_target() -> None:
    reached = {package_of(place.replace("/", ".")) for target in TARGETS.values() for place in target.reaches}
    pure = {package_of(name) for name in map(name_of, FILES) if is_in(name, {*PURE, "capture"})} - DIVIDED
    assert pure - reached == KNOWN, "tests/fuzz/targets.py wants an entry for a new package"


def crash(data: bytes) -> None:
    if b"BUG" in data:
        raise KeyError("planted")


def hang(data: bytes) -> None:
    while b"BUG" in data:
        pass


def bomb(data: bytes) -> None:
    if b"BUG" in data:
        bytearray(400 << 20)


def refuse(data: bytes) -> None:
    raise InputError("no bytes")


PLANTED = [(crash, "crash", 1.0), (hang, "slow", 0.05), (bomb, "memory", 5.0)]


@pytest.mark.parametrize(("run", "what", "seconds"), PLANTED)
def test_each_kind_of_trouble_is_seen(run: Callable[[bytes], None], what: str, seconds: float) -> None:
    trouble = confirmed(run, b"has a BUG in it", seconds)
    assert trouble is not None
    assert trouble.what == what
    assert confirmed(run, b"has none", seconds) is None


def test_what_kdbg_refuses_is_no_trouble() -> None:
    assert watched(refuse, b"") is None


def test_an_input_is_made_as_small_as_its_trouble_lets() -> None:
    assert minimised(b"x" * 500 + b"BUG" + b"y" * 700, lambda data: watched(crash, data) is not None) == b"BUG"


def test_changes_are_the_same_for_the_same_dice_and_never_too_long() -> None:
    made = [mutated(b"abc" * 20, Random(7), [b"other"], 100) for _ in range(2)]
    assert made[0] == made[1]
    assert max(len(mutated(b"abc" * 20, Random(n), [b"other"], 100)) for n in range(300)) <= 100


def test_without_atheris_inputs_that_reach_new_lines_are_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "SLOWER", 50)
    keeper = explore.Keeper("key logs", tmp_path)
    (tmp_path / "seed").mkdir()
    (tmp_path / "seed" / "one").write_bytes(seeds("key logs")[0])
    explore.own(keeper, tmp_path / "seed", 0, Random(1))
    seen = set[tuple[str, int]]()
    with explore.lines_run(seen):
        TARGETS["key logs"].run(b"CLIENT_RANDOM")
        few = len(seen)
        TARGETS["key logs"].run(seeds("key logs")[0])
    assert 0 < few < len(seen)
    assert keeper.count == 1


@pytest.mark.nightly  # a process of its own; its parts are tested above
def test_one_command_looks_for_more(tmp_path: Path) -> None:
    asked = ["--minutes", "0.02", "--jobs", "1", "--target", "key logs", "--folder", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "tests.fuzz", *asked], capture_output=True, text=True, timeout=300,
                          cwd=Path(__file__).resolve().parents[2])  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("inputs, 0 in trouble")
    assert len(list((tmp_path / "corpus" / "key logs").iterdir())) >= len(set(seeds("key logs")))
