"""TLS: records of a TCP connection's two sides go in, the plain bytes of each come out, where their secrets are known.

What stands in the clear (names, versions, ciphers, alerts) is told in any case. No I/O; primitives are those of
`cryptography`, which is imported when there is something to decrypt.
"""
