"""The tests of the manual, and `python -m tests.guide`, which writes the parts of it that are generated."""
