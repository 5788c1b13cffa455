"""Keys and values of records: bytes go in, what they say by a reader (text, numbers, JSON, Avro, Protobuf) comes out.

One file a family of readers, one table of all of them (table.py). No I/O: schemas are handed in.
"""
