"""Captures that hold secrets in unusual places: nothing is left, and what is put back, one place at a time, is noticed.

What counts as a replacement is read off the result: each word and address of the capture that another stands for. So a
replacement that is new in kdbg is tested as soon as one of the captures in `cases` needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdbg.capture.frames import Frame, Frames, FrameWriter
from kdbg.errors import CaptureError
from kdbg.ui.cli.redaction import Redaction
from kdbg.views.redact.substitutes import FEWEST, Substitutes

from ..cases import for_each
from .cases import CASES
from .leaks import MAC, PACKED, Case

WORD = re.compile(rb"[!-~]{6,}")
TELLING = re.compile(rb"[A-Za-z0-9]{8}")
"""What of a word is enough to be searched for, whatever it is part of."""
NOT_DECODED = {"lldp", "dhcp", "dns", "icmp", "gtp", "unknown link", "frame relay"}
"""Captures in which nothing says that four bytes are an address; they become zeros, but are not searched for."""
SHORT = {"records of 4 bytes", "snapshot of 5 bytes", "gre key", "retransmitted", "utf-16"}
"""Captures with texts alone that are too short to be searched for."""
BESIDE = {"gzip records", *(name for name in CASES if name.startswith("pcapng"))}
"""Captures in which the text is compressed, or is no packet's."""


class PutBack(Redaction):
    """A redaction that checks its output as it is, and again for each replacement that is put back."""

    def __init__(self, made: Substitutes, source: Path, case: Case) -> None:
        super().__init__(made)
        self.source, self.case = source, case
        self.noticed: list[tuple[int, int, bytes]] = []
        self.missed: list[tuple[int, int, bytes]] = []

    def check(self, output: Any) -> None:
        super().check(output)
        with Frames(self.source) as frames, Frames(output.partial) as others:
            before, after = list(frames), list(others)
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            for start, end in self.replaced(old.data, new.data):
                data = new.data[:start] + old.data[start:end] + new.data[end:]
                changed = [*after[:place], new._replace(data=data), *after[place + 1 :]]
                noted = self.noticed if self.is_noticed(changed) else self.missed
                noted.append((new.number, start, old.data[start:end]))

    def is_noticed(self, frames: list[Frame]) -> bool:
        """Return whether these packets are refused."""
        path = self.source.with_suffix(".changed")
        with path.open("wb") as file, FrameWriter(file, pcapng=False) as writer:
            for frame in frames:
                writer.add(frame)
        try:
            super().check(SimpleNamespace(name="changed", partial=path))  # type: ignore[arg-type]
        except CaptureError as error:
            return "would still contain" in str(error)
        return False

    def replaced(self, old: bytes, new: bytes) -> Iterator[tuple[int, int]]:
        """Yield where words and addresses stand for which another was written."""
        secrets = [one for one in self.case.secrets if len(one) >= FEWEST and one != MAC]
        for found in WORD.finditer(old):
            start, end = found.span()
            is_telling = TELLING.search(found[0]) or any(one in found[0] for one in secrets)
            if is_telling and old[start:end] != new[start:end]:
                yield start, end
        for address in {MAC, PACKED} & {*self.case.secrets} if self.made.addresses else ():
            for found in re.finditer(re.escape(address), old):
                if new[found.start() : found.end()] != address:
                    yield found.span()


@pytest.mark.parametrize("addresses", [False, True])
@for_each("name", CASES)
def test_nothing_is_left_and_every_replacement_that_is_put_back_is_noticed(
    name: str, addresses: bool, tmp_path: Path
) -> None:
    case = CASES[name]
    path = tmp_path / f"capture{case.suffix}"
    path.write_bytes(case.capture)
    made = tmp_path / f"shared{case.suffix}"
    made.unlink(missing_ok=True)
    redaction = PutBack(Substitutes("a seed", names=addresses, addresses=addresses), path, case)
    assert redaction.run(str(path), str(made)) == 0
    assert case.left_in(made) == [] or not (addresses or case.is_of_names)
    left = {PACKED} if addresses and name in NOT_DECODED else set()
    assert {data for _, _, data in redaction.missed} == left, redaction.missed
    is_due = name not in SHORT | BESIDE and (case.is_of_names if not addresses else not left)
    assert redaction.noticed or not is_due
