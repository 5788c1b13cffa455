"""Numbers over exchanges: how many, how large, how late, with which errors; of all, or by whatever tells them apart.

exchanges ──► Statistics(tables) ──► Table: rows of values ──► Tally ──► measures
"""
