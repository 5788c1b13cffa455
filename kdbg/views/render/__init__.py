"""Exchanges and bytes in, text out: trees, explained hexdumps, summary lines, JSON lines. Prints nothing."""
