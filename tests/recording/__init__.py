"""How the captures in captures/ were recorded: real clients, real or stand-in brokers, tcpdump between them.

Nothing here is imported by kdbg or by its tests: the recorder needs root, tcpdump and a private network.
"""
