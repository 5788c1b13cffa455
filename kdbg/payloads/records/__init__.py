"""Records, one by one: exchanges and pieces of log segments go in, what was produced, fetched or stored comes out.

No I/O, and nothing is rendered: keys and values leave as bytes.
"""
