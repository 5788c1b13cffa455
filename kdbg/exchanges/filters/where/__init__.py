"""`--where`: expressions of the Common Expression Language over both halves of an exchange.

    text ──library──► checked expression ──tree──► nodes ──limits, meanings──► closures ──► yes or no of an exchange

The library (cel-expr-python, by the language's own project) parses and checks types; what an expression may cost and
what its names mean is checked here. Exchanges are asked by Python functions made of the nodes, so that no body is read
for what stands in headers; whatever they do not do is left to the library, where every function means what it should.
"""
