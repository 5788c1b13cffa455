"""Live sessions with brokers.

    async with Cluster("localhost:9092", Settings()) as cluster:
        exchange = await cluster.send("metadata", {"topics": [{"name": "orders"}]})
        print(exchange.response.message().body)

What is said and answered are the same `Exchange` objects that `kdbg.read` finds in a capture.
"""
