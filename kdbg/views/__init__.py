"""What a reader gets: text, tables, a report, a redacted capture, and the objects of `kdbg.read`."""
