"""Hexdumps of clean messages straight from their bytes: generated readings that make rows (see wire/readings/walk.py).

    blocks.py     rows that stand together, as one template, and the layout of all rows of a message
    texts.py      what stands beside the bytes of a value, remembered
    rows.py       rows while they are gathered in source; which of them there are may depend on choices
    places.py     the texts of places
    leaves.py     the rows of leaves, sizes and counts
    structures.py the rows of structures and arrays
    message.py    the rows of a message; `dumping` makes the function of a layout
    records.py    the rows of record sets, of their decompressed bytes too

Nothing here says how a line looks or what a value means: that is asked of a `Grid` and a `Describer`, which the hexdump
of what is odd is made by as well (hexdump.py).
"""

from .message import Dumping, dumping, gathering
from .texts import Texts

__all__ = ["Dumping", "Texts", "dumping", "gathering"]
