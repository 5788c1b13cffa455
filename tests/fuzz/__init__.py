"""Inputs made to break kdbg: a registry of what reads foreign bytes, what is wrong with an input, and what makes more.

`targets` has an entry for each; `watch` runs one input and says what is wrong with it; `mutate` makes inputs out of
seeds (`seeds`), `explore` goes on from those that reach new code; `python -m tests.fuzz` does so for as long as told.
What was found stands in `found`, as small as it could be made, and is tried by every run of the tests.
"""
