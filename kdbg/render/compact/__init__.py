"""Trees for a terminal: what matters, and how much was left out. They are drawn by values, for few are read there.

tree.py draws fields and arrays, table.py arrays of alike structures, records.py record sets, view.py exchanges.
"""
