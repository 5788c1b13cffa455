"""Logs of clients and brokers: the lines that speak of requests and responses go in, the exchanges they tell come out.

Each dialect is a file of its own, listed in `DIALECTS` (lines.py). What a line does not say is not known: nothing is
made up. No file is opened here, and nothing is printed.
"""
