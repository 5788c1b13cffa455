"""The view of exchanges as explained hexdumps: a line a field, its bytes, name, meaning and type.

hexdump.py draws any message as an inspection of it says, on the lines of grid.py, with what annotations.py says beside
the bytes; view.py draws exchanges. Clean messages in bulk are drawn straight from their bytes, by generated source:
`dumping` (source.py) makes the function of a layout, and rows.py makes lines of its rows.
"""
