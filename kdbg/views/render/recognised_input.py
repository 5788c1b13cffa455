"""What was taken for bytes in a text: a line about it, before the bytes are explained."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.pasted.literals import Take
from ...analysis.pasted.search import Bare
from ...protocol.findings.amounts import count
from .style import Look


def alone(takes: Sequence[Take], bare: Bare | None) -> bool:
    """Return whether what was given is bytes and nothing else, so that nobody need be told what was taken."""
    (first, *others) = takes
    return not others and not first.cut and not first.lost and first.odd < 0 and (
        bare is None or (not bare.text[: first.start].strip() and not bare.text[first.end :].strip())
    )  # fmt: skip


def input_line(take: Take, bare: Bare, look: Look) -> str:
    """Return what was taken: where it stands, in which form, how many bytes, and what is wrong with it."""
    words = [
        f"Taken from {bare.place(take.start)} to {bare.place(take.end)}",
        take.form,
        count(len(take.data), "byte"),
    ]
    if take.cut:
        more = f", {take.more:,} more are missing" if take.more is not None else ""
        words.append(f"truncated there{more}")
    said = [look.paint("dim", " · ".join(words))]
    if take.lost:
        lost = f"✗ {count(take.lost, 'character')} U+FFFD: bytes were lost in a conversion to text; ff replaces each"
        said.append(look.paint("bad", lost))
    if take.odd >= 0:
        byte = (take.odd - 1) // 2
        odd = f"✗ an odd number of hex digits: one is missing at digit {take.odd}, byte 0x{byte:04x}; decoded as 0"
        said.append(look.paint("bad", odd))
    if take.parted >= 0:
        parted = f"! a space inside a byte, after an odd number of hex digits ({take.parted}), was ignored"
        said.append(look.paint("note", parted))
    return "\n".join(said) + "\n"
