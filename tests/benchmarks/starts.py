"""What it costs to start, and to look at next to nothing: beside Python itself, click and tshark."""

from __future__ import annotations

import sys
from pathlib import Path

from .measure import costs
from .results import Column, Table
from .views import ELEVEN, KAFKA, fields, kdbg, tshark

TOP = Path(__file__).parents[2]
LITTLE = TOP / "captures" / "first-contact.pcap"
WHOLE = "0000001700030001000000020004" + "6b646267" + "00000001" + "0003666f6f"
BROKEN = "00000038" + "00000002" + "0000000100000001000f6b61666b612d312e6578616d706c6500002384ffff"
"""A Metadata request; a Metadata response that is cut off, and so might be one of many."""
PARSE_ONE = "from kdbg.protocol.grammars import api; api('heartbeat').at('response', 0).parse(bytes(2))"
DECODE_ONE = "import kdbg; kdbg.decode(bytes(2), api='heartbeat', version=0, direction='response', header=False)"
LEAST = 9
"""Rounds: one start takes no time."""


def report(rounds: int) -> list[Table]:
    """The table of commands."""
    python = sys.executable
    commands = {
        "`python -c pass`": [python, "-c", "pass"],
        "`python -c 'import click'`": [python, "-c", "import click"],
        "`kdbg --help`": [python, "-m", "kdbg", "--help"],
        "`kdbg explain`, 27 bytes": [python, "-m", "kdbg", "explain", WHOLE],
        "`kdbg explain`, a response that is cut off": [python, "-m", "kdbg", "explain", BROKEN],
        "`import construct`": [python, "-c", "import construct"],
        "the registry, a message by its grammar": [python, "-c", PARSE_ONE],
        "`import kdbg; kdbg.decode(…)`": [python, "-c", DECODE_ONE],
        "`kdbg decode -f summary captures/first-contact.pcap`": kdbg(LITTLE, "summary"),
        "`tshark -T fields`, 11 fields, of the same": tshark(LITTLE, (*KAFKA, *fields(ELEVEN))),
    }
    found = dict(zip(commands, costs(list(commands.values()), max(rounds, LEAST)), strict=True))
    base, table = found["`python -c pass`"].seconds, Table("starts", "command", (
        Column("CPU", "ms"), Column("without Python", "ms"), Column("times `import click`", "×", -1),
        Column("peak", "MB"),
    ))  # fmt: skip
    unit = found["`python -c 'import click'`"].seconds
    for name, cost in found.items():
        table.add(name, cost.seconds * 1000, (cost.seconds - base) * 1000, cost.seconds / unit, cost.memory)
    return [table]
