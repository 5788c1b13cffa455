"""`python -m tests.tui.walk`: the screens that test_walk.py compares, of keys pressed one after the other.

Each step stands under a line that names its keys; of a screen those lines follow that differ from the screen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Static

from kdbg.ui.tui.app import Browser

from .driving import CAPTURES, drive, lines, press, shown, until

FILE = Path(__file__).with_name("walked.txt")
Step = tuple[str, ...]
WALKS: dict[str, tuple[str, tuple[int, int], Sequence[Step]]] = {
    "narrow": ("errors.pcap", (80, 24), (
        (), ("pagedown", "down"), ("end", "pageup"), ("e", "e", "E", "c", "t"), ("m", "m", "n", "N"), ("s", "s", "S"),
        ("s", "s", "M"), ("slash", *"api == 'Produce'", "enter"), ("down", "down", "enter"),
        ("down", "down", "down", "left"),
        ("left", "z"), ("z", "r"), ("tab", "right", "down"), ("end", "left"), ("shift+tab", "escape", "plus", "minus"),
        ("2",), ("v", "down", "down", "down"), ("enter", "left"), ("3", "end", "enter"), ("question_mark",),
        ("escape", "w", "x", "u"),
    )),
    "wide": ("group-rebalance.pcap", (160, 40), (
        (), ("o", "O", "p", "S"), ("s", "s", "s"), ("1", "enter", "end", "tab", "down", "right"), ("3",),
    )),
    "help": ("errors.pcap", (80, 64), (("question_mark",),)),
    "others": ("errors.pcap", (120, 26), (
        ("f",), ("up", "up"), ("f", "f"), ("g", "j", "j", "k"), ("space", "b"), ("G",), ("T",),
        ("g", "right_square_bracket"), ("left_square_bracket",), ("C", "c", "c", "C"), ("P",), ("n",), ("N", "O"),
        ("equals_sign",), ("plus", "plus", "plus", "minus"), ("enter", "l", "j", "j", "h"), ("y",),
        ("escape", "2", "3", "down", "left"), ("home", "down"), ("1", "slash", *"x y", "enter"),
    )),
}  # fmt: skip
"""By name: a capture, columns and rows, and the keys of each step."""


def walked(name: str) -> list[str]:
    """Return what a walk shows."""
    capture, size, steps = WALKS[name]
    found: list[str] = []

    async def walk(app: Browser, pilot: Pilot[None]) -> None:
        before: list[str] = []
        said: list[str] = []

        def notify(message: str, *, severity: str, **options: object) -> None:
            said.append(f"{severity}: {message}")

        app.notify = notify  # type: ignore[method-assign, assignment]
        for keys in steps:
            await press(app, pilot, *keys)
            now = await still(app, pilot)
            found.append(f"=== {' '.join(keys)}")
            found.extend(said)
            said.clear()
            found.extend(f"{row:2} {line}".rstrip() for row, line in enumerate(now) if before[row : row + 1] != [line])
            before = now

    drive(walk, CAPTURES / capture, size=size, named=[capture])
    return found


async def still(app: Browser, pilot: Pilot[None]) -> list[str]:
    """Return the lines of the screen once it changes no more."""
    await until(pilot, lambda: not app.filtering)
    if app.below.name == "numbers":
        await until(pilot, lambda: "exchanges" in str(app.query_one("#numbers-text", Static).render()))
    app.tick()
    await shown(app, pilot)
    return [line.rstrip() for line in lines(app)]


def main() -> None:
    """Write what is compared."""
    FILE.write_text("\n".join(line for name in WALKS for line in (f"##### {name}", *walked(name))) + "\n")


if __name__ == "__main__":
    main()
