"""Keys and values of records: bytes go in, what they say by a reader (text, numbers, JSON, Avro, Protobuf) comes out.

One table of all readers (readers.py). No I/O: schemas are handed in.
"""
