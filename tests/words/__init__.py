"""The words of kdbg: all texts that users read, and the rules that they follow. `python -m tests.words [PATH…]`."""
