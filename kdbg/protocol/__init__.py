"""The protocol as data: what a layout is written in (wire), every layout (grammars, definitions), what can be wrong in
bytes (findings). Imports no other package of kdbg.
"""
