"""Captures made fit to be shared: bytes and their places go in, replaced bytes of the same length come out.

Opens no file. `message` does it to a message, `fill` to what is compressed in it; `substitutes` says what stands in
place of what, and has what was replaced. `streams` finds the messages in their connections, `packets` writes them back
into packets. What is not known to be harmless is replaced; what is not understood is blank. `search` looks for what was
replaced in what was written.
"""
