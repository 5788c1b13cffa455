"""How many mistakes are named: `python -m tests.mistakes.score [SEED [fresh]]`; `fresh`: of public clients' messages."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kdbg.findings.quirks import Sure
from kdbg.guess.pieces import pieces
from kdbg.mistakes import Mistake, find_mistake

from .making import ANY, BATCH, Made, cases
from .messages import Sample, captured, generated, public


class Score(NamedTuple):
    """Of so many messages: named, named as something else and sure of it, with the corrected bytes as they should be."""

    cases: list[Made]
    named: list[Made]
    wrong: list[tuple[Made, Mistake]]
    missed: list[tuple[Made, Mistake | None]]
    corrected: int


def found_in(data: bytes, sample: Sample) -> Mistake | None:
    """The first mistake that `kdbg explain` names in a request; in a response that of its API and version."""
    if sample.direction == "request":
        return next((piece.mistake for piece in pieces(data) if piece.mistake is not None), None)
    size = int.from_bytes(data[:4], "big", signed=True)
    return find_mistake(data[4:], api=sample.api, version=sample.version, direction="response", size=size)


def score(made: list[Made]) -> Score:
    result = Score(made, [], [], [], 0)
    corrected = 0
    for one in made:
        found = found_in(one.data, one.sample)
        if found is not None and found.kind in one.kinds:
            result.named.append(one)
        else:
            result.missed.append((one, found))
        if found is not None and found.corrected and found.corrected == one.right:
            corrected += 1
        elif found is not None and found.kind not in one.kinds and found.sure is not Sure.GUESS:
            result.wrong.append((one, found))
    return result._replace(corrected=corrected)


def samples(seed: int, *, fresh: bool) -> list[Sample]:
    mixed = [*(public() if fresh else captured()), *generated(seed, 400)]
    return random.Random(seed).sample(mixed, len(mixed))


def damaged(chance: random.Random, sample: Sample) -> bytes:
    """A message with one byte flipped after its header."""
    data = bytearray(sample.sized)
    data[chance.randrange(min(18, len(data) - 1), len(data))] ^= chance.randrange(1, 256)
    return bytes(data)


def falsely(
    samples: Iterable[Sample], seed: int
) -> tuple[list[tuple[Sample, Mistake]], list[tuple[Sample, bytes, Mistake]]]:
    """Mistakes that are found, and not as a guess, in valid messages, and in damaged ones though the damage is other."""
    chance, healthy, wrong = random.Random(seed), [], []
    for sample in samples:
        found = found_in(sample.sized, sample)
        if found is not None and found.sure is not Sure.GUESS:
            healthy.append((sample, found))
        data = damaged(chance, sample)
        found = found_in(data, sample)
        if found is not None and found.sure is not Sure.GUESS and found.corrected != sample.sized:
            wrong.append((sample, data, found))
    return healthy, wrong


def main(seed: int, fresh: bool, only: str = "", count: int = 20) -> None:
    mixed = samples(seed, fresh=fresh)
    total: Counter[str] = Counter()
    for name in [*ANY, *BATCH]:
        if only not in name:
            continue
        one = score(cases(name, mixed, seed, count))
        sides = Counter(made.sample.direction for made in one.cases)
        total += Counter(cases=len(one.cases), named=len(one.named), wrong=len(one.wrong), right=one.corrected)
        print(f"{name:52} {len(one.named):3} of {len(one.cases):3}  wrong {len(one.wrong):2}  corrected {one.corrected:3}"
              f"  {dict(sides)}", flush=True)  # fmt: skip
        if only:
            for made, found in [*one.missed, *one.wrong]:
                print(
                    "   ",
                    made.sample,
                    made.data.hex(),
                    "->",
                    found and (found.kind, found.sure.value, found.text, found.start),
                )
                print("      should be", made.right.hex())
    print(dict(total))
    if not only:
        healthy, wrong = falsely(mixed[:400], seed)
        print(f"valid messages blamed: {len(healthy)}, damaged ones wrongly: {len(wrong)} of {len(mixed[:400])}")
        for sample, found in healthy[:10]:
            print("   valid", sample, found.text)
        for sample, data, found in wrong[:12]:
            print(
                "   damaged",
                sample,
                found.sure.value,
                found.text,
                found.start,
                data.hex()[:200],
                sample.sized.hex()[:200],
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, "fresh" in sys.argv[2:], *sys.argv[3:4])
