"""Trees for a terminal: what matters, and how much was left out. They are drawn by values, for few are read there.

base.py folds fields and items (folding.py says which), tree.py adds tables of alike structures (table.py) and records
(records.py), view.py has exchanges.
"""
