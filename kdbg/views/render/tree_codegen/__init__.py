"""Trees of clean messages straight from their bytes: generated readings that make text (see wire/readings/walk.py).

    lines.py      text while it is gathered: blocks of lines that are one template, scopes of one prefix
    texts.py      values as the bytes of their text, by the tree's own rules, remembered
    leaves.py     values while they are read
    records.py    record sets
    message.py    the lines of a message; `drawing` makes the function of a layout

Nothing here says how a value or a name looks: all of that is asked of a `Tree`, which draws what is odd as well.
"""

from .message import Drawing, drawing
from .texts import Texts

__all__ = ["Drawing", "Texts", "drawing"]
