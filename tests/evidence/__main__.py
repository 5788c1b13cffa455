"""The command of this room: find out, write, and say what could not be found out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from kdbg.protocol import grammars
from kdbg.protocol.grammars.generated import spans

from ..conftest import SHARED
from . import proofs, releases
from .tables import write_proofs, write_releases

SLOW = ("java", "brokers")


def main() -> None:
    """Write both tables anew."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence", description="Write the generated tables anew.")
    parser.add_argument("also", nargs="*", choices=(*SLOW, []), help="ask Kafka's own classes, or its brokers, as well")
    also = parser.parse_args().also
    claims = gathered(also)
    found = releases.lifetimes(releases.asked() if "java" in also else ())
    write_proofs(claims)
    write_releases(found)
    for line in unknown(also, found):
        print(line, file=sys.stderr)


def gathered(also: list[str]) -> proofs.Claims:
    """The proofs of this run, and those that kdbg has already of what this run does not look at."""
    messages, payloads = proofs.claimed()
    new = proofs.found()
    messages |= new.messages
    payloads |= new.payloads
    if "java" in also:
        messages["java"], payloads["java"] = proofs.java()
    if "brokers" in also:
        messages |= proofs.brokers()
    return proofs.Claims(messages, payloads)


def unknown(also: list[str], found: releases.Lifetimes) -> Iterator[str]:
    """What this run could not find out, and what could."""
    for word in SLOW:
        if word not in also:
            yield f"not asked, so left as it was: {word}"
    if not SHARED.is_dir():
        yield f"{SHARED} is absent, so left as they were: {', '.join(proofs.FROM_SHARED)}"
    asked = f"up to {releases.NEWER[-1]}" if "java" in also else "that was looked at; `java` asks those after the table"
    for api in grammars.apis():
        missing = [version for version in api.versions if (api.key, version) not in found]
        if missing:
            yield f"{api.name} {spans(missing)}: in no release {asked}, so shown as unreleased"


if __name__ == "__main__":
    main()
