"""What each API adds to the ledgers: a function by API key, called with every exchange of it.

A reader takes (ledgers, session, mark, body of the request, body of the response, exchange); a body is {} where there
is no message, or none that can be read.
"""
