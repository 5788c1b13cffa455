"""A capture that has grown is indexed from where its index ended, with the same result as if it was read whole."""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import source
from kdbg.capture.pcap import MAGICS
from kdbg.views.index import cache, checkpoint, writer

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, SHIPPED, call

OTHERS = sorted({*CAPTURES.rglob("*.pcap")} - {*SHIPPED})
PCAPS = [path for path in [*SHIPPED, *by_day(OTHERS, 4)] if path.read_bytes()[:4] in MAGICS]
QUESTIONS = (("--errors=all",), ("--slower-than", "0.05"), ("--topic", "nosuch"), ("--limit", "7", "--api", "!fetch"))
ERRORS = CAPTURES / "errors.pcap"


@pytest.fixture
def resumes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many packets were before each place where a reading went on."""
    places: list[int] = []
    resume = source_resume = writer.Capture.resume

    def noting(self: Any, counts: dict[str, Any], *given: Any) -> None:
        places.append(counts["packets"])
        resume(self, counts, *given)

    assert source_resume is resume
    monkeypatch.setattr(writer.Capture, "resume", noting)
    return places


def cuts(data: bytes) -> Sequence[int]:
    """Where a capture is cut: inside of packets, mostly."""
    size = len(data)
    return sorted({size // 3, size // 2, size * 3 // 4, size - 1500, size - 40} & {*range(4200, size)})


@for_each("capture", PCAPS, ids=[path.name for path in PCAPS])
def test_a_capture_that_grew_has_the_same_answers(capture: Path, tmp_path: Path) -> None:
    data, grown = capture.read_bytes(), tmp_path / capture.name
    for cut in cuts(data):
        grown.write_bytes(data[:cut])
        call("index", grown)
        with grown.open("ab") as file:
            file.write(data[cut:])
        for form, question in zip(("tree", "json", "summary", "summary"), QUESTIONS, strict=True):
            asked = ("decode", grown, "-f", form, *question)
            assert call(*asked) == call(*asked, "--no-index"), (cut, question)
        call("index", "--clear")
