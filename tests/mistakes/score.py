"""How many mistakes are named: `python -m tests.mistakes.score [SEED [fresh|dev [NAME]]]`.

`fresh`: in messages of public clients' test suites instead of those of captures.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kdbg.findings.quirks import Sure
from kdbg.guess.pieces import pieces
from kdbg.mistakes import Mistake, find_frame_mistake, find_mistake

from .making import ANY, BATCH, Made, cases
from .messages import Sample, captured, generated, public

Find = Callable[[bytes, Sample], Mistake | None]


class Score(NamedTuple):
    """Messages with a mistake: those named, those wrongly named and not as a guess, those not named.

    `corrected` counts those whose corrected bytes are right.
    """

    cases: list[Made]
    named: list[Made]
    wrong: list[tuple[Made, Mistake]]
    missed: list[tuple[Made, Mistake | None]]
    corrected: int


def found_in(data: bytes, sample: Sample) -> Mistake | None:
    """The mistake in a message of which API, version and direction are known."""
    if sample.direction == "request" and (found := find_frame_mistake(data)) is not None:
        return found
    size = int.from_bytes(data[:4], "big", signed=True)
    return find_mistake(data[4:], api=sample.api, version=sample.version, direction=sample.direction, size=size)


def explained(data: bytes, sample: Sample) -> Mistake | None:
    """The first mistake that `kdbg explain` names in a request; in a response that of its API and version."""
    if sample.direction == "response":
        return found_in(data, sample)
    return next((piece.mistake for piece in pieces(data) if piece.mistake is not None), None)


def score(made: list[Made], find: Find = found_in) -> Score:
    result = Score(made, [], [], [], 0)
    corrected = 0
    for one in made:
        found = find(one.data, one.sample)
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


def blamed(samples: Iterable[Sample], find: Find = found_in) -> list[tuple[Sample, Mistake]]:
    """Valid messages in which a mistake is found, and not as a guess."""
    found = ((sample, find(sample.sized, sample)) for sample in samples)
    return [(sample, one) for sample, one in found if one is not None and one.sure is not Sure.GUESS]


def misled(samples: Iterable[Sample], seed: int, find: Find = found_in) -> list[tuple[Sample, bytes, Mistake]]:
    """Damaged messages with a mistake that is found, not as a guess, and does not undo the damage."""
    chance, wrong = random.Random(seed), []
    for sample in samples:
        data = damaged(chance, sample)
        found = find(data, sample)
        if found is not None and found.sure is not Sure.GUESS and found.corrected != sample.sized:
            wrong.append((sample, data, found))
    return wrong


def main(seed: int, fresh: bool, only: str = "", count: int = 20) -> None:
    mixed = samples(seed, fresh=fresh)
    total: Counter[str] = Counter()
    for name in [*ANY, *BATCH]:
        if only not in name:
            continue
        one = score(cases(name, mixed, seed, count), explained)
        sides = dict(Counter(made.sample.direction for made in one.cases))
        total += Counter(cases=len(one.cases), named=len(one.named), wrong=len(one.wrong), right=one.corrected)
        print(f"{name:52} {len(one.named):3} of {len(one.cases):3}  wrong {len(one.wrong):2}  "
              f"corrected {one.corrected:3}  {sides}", flush=True)  # fmt: skip
        for made, found in [*one.missed, *one.wrong] if only else []:
            print("   ", made.sample, made.data.hex(), "->", found and (found.sure.value, found.text, found.start))
            print("      should be", made.right.hex())
    print(dict(total))
    if only:
        return
    for sample, found in blamed(mixed[:400], explained):
        print("   valid and blamed:", sample, found.text, sample.sized.hex())
    for sample, data, found in misled(mixed[:400], seed, explained):
        print("   damaged:", sample, found.sure.value, found.text, found.start, data.hex(), sample.sized.hex())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, "fresh" in sys.argv[2:], *sys.argv[3:4])
