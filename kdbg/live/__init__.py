"""Live traffic: interfaces and connections go in, streams of packets come out, which are read as captures are.

Nobody who captures or relays ever waits for who reads: what does not fit in between is left out, and counted.

Of the proxy, the protocol side opens nothing and waits for nothing: `frames` cuts what comes, `relay` says what is
passed on in both directions of one connection, `addresses` which addresses stand for which brokers, `faults` and
`actions` what is done to whom. `proxy` and `session` have the sockets; `tap` turns what was said into packets.

`replaying` sends captured requests again, `mocking` answers clients from a capture: each has a protocol side like the
proxy's, and one file with the sockets (`replay`, `serve`).
"""
