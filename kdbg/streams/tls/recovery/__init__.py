"""Keys of open TLS connections out of a process's memory, proved by records of the connections. No I/O.

memory.py finds keys and candidates for secrets in bytes of memory, record_number.py the number of a record in the
middle of a connection, and proofs.py which of the secrets is whose. Needs numpy and `cryptography` (the extra `tls`).
"""
