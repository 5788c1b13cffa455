"""Logs of clients and brokers: the lines that speak of requests and responses go in, the exchanges they tell come out.

The dialects are listed in `DIALECTS` (lines.py). What a line does not say is not known: nothing is
made up. No file is opened here, and nothing is printed.
"""
