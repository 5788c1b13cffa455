"""What a reader gets: text, tables, a report, a redacted capture, Wireshark's dissector, the objects of `kdbg.read`."""
