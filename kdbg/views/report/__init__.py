"""Reports for people who would rather look: captures, or a pipeline's tables, as one HTML page that needs no network.

    captures ─ collected ───────┐
                                ├─ facts ─ charts ─ page
    tables ─ spark/sql ─────────┘

The facts are asked for in SQL that SQLite and Spark both understand: SQLite, in a temporary file, where captures are
decoded here; Spark where a pipeline has decoded them. Either way memory holds what stands on the page, not the traffic.
"""
