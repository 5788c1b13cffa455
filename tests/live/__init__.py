"""kdbg in the middle of connections."""
