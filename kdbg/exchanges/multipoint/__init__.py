"""The same connections recorded at several places: their packets go in, those of one capture come out, once each.

Knows packets and connections, and nothing of what is said on them. What becomes an exchange of them is told by `tell`
where and when it was seen. No I/O.
"""
