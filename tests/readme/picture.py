"""`python -m tests.readme.picture`: the README's picture, the first lines of what kdbg prints on a terminal."""

from __future__ import annotations

from tests.guide.blocks import TOP
from tests.guide.screens import picture, ran

PICTURE = TOP / ".readme" / "decode.svg"
COMMANDS = {
    "kdbg diagnose captures/errors.pcap": 10,
    "kdbg decode captures/errors.pcap -f summary --errors": 10,
}
"""Commands, and how many lines of each are shown, the command's own among them."""
COLUMNS = 80


def lines() -> list[str]:
    """Return the lines of the picture, with colours."""
    return [line for command, rows in COMMANDS.items() for line in ran(command, COLUMNS, rows)]


def drawn() -> str:
    """Return the picture."""
    return picture(lines(), COLUMNS, "kdbg", "kdbg")


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
