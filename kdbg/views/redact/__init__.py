"""Captures made fit to be shared: bytes and their places go in, replaced bytes of the same length come out.

Opens no file. `fields` says what the fields of messages hold, `substitutes` what stands in their place, `message` does
it to a message, `batches` and `filling` to what is compressed in it, `streams` finds the messages in their connections,
`layers` and `packets` write them back into packets. What is not known to be harmless is replaced; what is not
understood is blank. `replaced` has what was replaced, `search` looks for it in what was written.
"""
