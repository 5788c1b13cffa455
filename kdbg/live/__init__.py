"""Live traffic: interfaces and connections go in, streams of packets come out, which are read as captures are.

Nobody who captures or relays ever waits for who reads: what does not fit in between is left out, and counted.

Of the proxy, the protocol side opens nothing and waits for nothing: `frames` cuts what comes, `relay` says what is
passed on in both directions of one connection, `faults` and `actions` what is done to whom. `proxy`, `session` and
`listeners` have the sockets. `replaying` sends captured requests again (`plan`, and `replay` with the sockets),
`mocking` answers clients from a capture (`answers`, and `serve` with the sockets).
"""
