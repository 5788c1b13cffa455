"""How many mistakes are named: `python -m tests.mistakes.score [SEED [dev|fresh|recorded [NAME]]]`.

`fresh`: in messages of public clients' test suites instead of those of captures; `recorded`: of other captures.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kdbg.exchanges.guess.pieces import pieces
from kdbg.exchanges.mistakes.connection import find_frame_mistake
from kdbg.exchanges.mistakes.finder import examine
from kdbg.exchanges.mistakes.search import Mistake
from kdbg.protocol.findings.quirks import Sure

from .making import ANY, BATCH, Made, cases
from .messages import Sample, captured, generated, own_mistakes, public, recorded

Find = Callable[[bytes, Sample], tuple[Mistake, ...]]


class Score(NamedTuple):
    """Messages with a mistake: those named, those wrongly named and not as a guess, those not named.

    `corrected` counts those whose corrected bytes are right.
    """

    cases: list[Made]
    named: list[Made]
    wrong: list[tuple[Made, Mistake]]
    missed: list[tuple[Made, Mistake | None]]
    corrected: int


def found_in(data: bytes, sample: Sample) -> tuple[Mistake, ...]:
    """The mistakes in a message of which API, version and direction are known."""
    if sample.direction == "request" and (found := find_frame_mistake(data)) is not None:
        return (found,)
    size = int.from_bytes(data[:4], "big", signed=True)
    return examine(data[4:], api=sample.api, version=sample.version, direction=sample.direction, size=size).mistakes


def explained(data: bytes, sample: Sample) -> tuple[Mistake, ...]:
    """The mistakes that `kdbg explain` names in a request; in a response those of its API and version."""
    if sample.direction == "response":
        return found_in(data, sample)
    return next((piece.mistakes for piece in pieces(data) if piece.mistakes), ())


def score(made: list[Made], find: Find = found_in) -> Score:
    result = Score(made, [], [], [], 0)
    corrected = 0
    for one in made:
        found = find(one.data, one.sample)
        if any(each.kind in one.kinds for each in found):
            result.named.append(one)
        else:
            result.missed.append((one, found[0] if found else None))
        if found and found[0].corrected and found[-1].corrected == one.right:
            corrected += 1
            continue
        there = one.kinds | own_mistakes(one.sample)
        blamed = (each for each in found if each.kind not in there and each.sure is not Sure.GUESS)
        result.wrong.extend((one, each) for each in blamed)
    return result._replace(corrected=corrected)


SOURCES: dict[str, Callable[[], tuple[Sample, ...]]] = {"dev": captured, "fresh": public, "recorded": recorded}
"""Where messages come from, beside generated ones."""
USED = 1, 77
"""Seeds of trials by which the finder was written."""


def samples(seed: int, source: str = "dev") -> list[Sample]:
    """Messages of a source and generated ones; beside recorded ones those are of other versions than in `USED`."""
    used = {str(one) for each in USED for one in generated(each, 400)} if source == "recorded" else set()
    new = generated(seed, 400, lambda api, version, direction: f"{api.name}-{direction}-v{version}" not in used)
    mixed = [*SOURCES[source](), *new]
    return random.Random(seed).sample(mixed, len(mixed))


def damaged(chance: random.Random, sample: Sample) -> bytes:
    """A message with one byte flipped after its header."""
    data = bytearray(sample.sized)
    data[chance.randrange(min(18, len(data) - 1), len(data))] ^= chance.randrange(1, 256)
    return bytes(data)


def blamed(samples: Iterable[Sample], find: Find = found_in) -> list[tuple[Sample, Mistake]]:
    """Valid messages in which a mistake is found that they do not have, and not as a guess."""
    found = ((sample, one, own_mistakes(sample)) for sample in samples for one in find(sample.sized, sample))
    return [(sample, one) for sample, one, own in found if one.kind not in own and one.sure is not Sure.GUESS]


def misled(samples: Iterable[Sample], seed: int, find: Find = found_in) -> list[tuple[Sample, bytes, Mistake]]:
    """Damaged messages with a mistake that is found, not as a guess, and does not undo the damage."""
    chance, wrong = random.Random(seed), []
    for sample in samples:
        data = damaged(chance, sample)
        true = own_mistakes(sample) | {"unused-value"}  # which says no more than what the value is
        found = [one for one in find(data, sample) if one.kind not in true]
        wrong += [(sample, data, one) for one in found if one.sure is not Sure.GUESS and one.corrected != sample.sized]
    return wrong


def main(seed: int, source: str, only: str = "", count: int = 20) -> None:
    mixed = samples(seed, source)
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, sys.argv[2] if len(sys.argv) > 2 else "dev", *sys.argv[3:4])
