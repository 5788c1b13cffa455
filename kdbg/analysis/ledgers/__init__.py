"""What a conversation means over time: connections, clusters, groups, producers, what is fetched and written, errors.

`Ledgers` takes packets, exchanges and findings in the order in which an engine gives them, and keeps accounts of them
in bounded memory. What reads the ledgers (diagnosis, stories) sees the same from a file and from live traffic. Nothing
here judges, opens files or prints.
"""

from .ledgers import Ledgers

__all__ = ["Ledgers"]
