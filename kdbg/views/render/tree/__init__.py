"""The view of exchanges as trees: a line a field, guides in front, meanings after.

    tree.py       any value, whole or read in part, and how all of it looks
    records.py    record sets in it
    metrics.py    metrics of OpenTelemetry in it
    compact.py    exchanges as trees for a terminal: what matters, and how much was left out

Clean messages in bulk are drawn straight from their bytes, by generated source. It asks a `Tree` how names and values
look:

    lines.py      values as the bytes of their text, remembered; blocks of lines that are one template
    source.py     exchanges; the lines of messages and of record sets: `drawing` makes the function of a layout
"""
