"""Pasted text goes in, the bytes that stand in it come out, each with its place. No I/O."""
