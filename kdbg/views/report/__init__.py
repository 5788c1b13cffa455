"""Reports: captures, or a pipeline's tables, as one HTML page that needs no network.

    captures ─┐
              ├─ scale/query/report ─ facts ─ charts ─ page
    tables ───┘

DuckDB runs the SQL that facts are made of, in bounded memory.
"""
