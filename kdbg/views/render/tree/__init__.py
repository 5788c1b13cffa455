"""The view of exchanges as trees: a line a field, guides in front, meanings after.

tree.py draws any value, whole or read in part; records.py record sets in it, metrics.py metrics of OpenTelemetry, and
compact.py exchanges for a terminal: what matters, and how much was left out. Clean messages in bulk are drawn straight
from their bytes, by generated source: `drawing` (source.py) makes the function of a layout, lines.py its texts.
"""
