"""Kafka's JSON message definitions, read into the same declarations that the grammars of kdbg are written in."""
