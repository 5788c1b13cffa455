"""The view of exchanges as explained hexdumps: a line a field, its bytes, name, meaning and type.

    hexdump.py      any message, as an inspection of it says
    grid.py         how lines are laid out
    annotations.py  what stands beside the bytes of a field
    view.py         exchanges

Clean messages in bulk are dumped straight from their bytes, by generated source. It asks a `Describer` what a value
means:

    rows.py         texts of values, remembered; rows as lines
    source.py       the rows of messages and of record sets; `dumping` makes the function of a layout
"""
