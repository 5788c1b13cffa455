"""Many variants of many captures, and the table of what became of their exchanges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .truth import whole
from .variants import DAMAGE, ONE_SIDE, variant
from .verdict import Verdict, judge

TOP = Path(__file__).resolve().parents[2]
SHARED = TOP.parent / "shared" / "captures"
HURT = {
    "segmented-lossy.pcap", "midstream.pcap", "file-truncated.pcap", "lossy-segmented.pcap", "snaplen-96.pcap",
    "midstream-in-message.pcap", "tailcut-txn.pcap", "reordered-segmented.pcap", "retransmitted-segmented.pcap",
}  # fmt: skip
"""Captures that are damaged as they are."""


HEAD = (
    "| damage | exchanges | untouched | lost | touched | hidden | without finding | invented |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


def captures(*, shared: bool = False) -> list[Path]:
    """Return the captures without damage, of the project or beside it."""
    paths = [*(TOP / "captures").glob("*.pcap*"), *(SHARED.glob("*.pcap") if shared else ())]
    return sorted(path for path in paths if path.name not in HURT)


def rows(paths: Iterable[Path], seeds: Iterable[int], kinds: Iterable[str] | None = None) -> dict[str, Verdict]:
    """Return the sum of the verdicts on all variants, by kind of damage."""
    found: dict[str, Verdict] = {}
    paths, seeds = list(paths), list(seeds)
    for kind in kinds or [*DAMAGE, *ONE_SIDE]:
        total = Verdict()
        for path in paths:
            for seed in seeds if kind in DAMAGE else [0]:
                one = judge(whole(path), variant(whole(path), kind, seed))
                one.notes = [f"{path.name} {seed}: {note}" for note in one.notes]
                total += one
        found[kind] = total
    return found


def table(found: dict[str, Verdict]) -> str:
    """Return the rows as the manual shows them."""
    return HEAD + "\n".join(
        f"| {kind} | {one.exchanges:,} | {one.untouched:,} | {one.lost:,} | {one.touched:,} | {one.hidden:,} |"
        f" {one.silent:,} | {one.invented:,} |"
        for kind, one in found.items()
    )


def alone(found: dict[str, Verdict]) -> str:
    """Return the sentence of the manual on brokers' packets alone."""
    one = found["brokers only"]
    share = one.identified / max(one.responses, 1)
    return f"{one.responses:,} responses, {one.identified:,} identified ({share:.0%}), {one.wrong} wrong."


def written(text: str, parts: dict[str, str]) -> str:
    """Return a page of the manual with these parts between their marks."""
    for name, part in parts.items():
        head, rest = text.split(f"<!-- {name} -->\n")
        text = f"{head}<!-- {name} -->\n{part}\n<!-- /{name} -->" + rest.split(f"<!-- /{name} -->")[1]
    return text
