"""The incidents, by what they are about; each module has a table of its own."""

from __future__ import annotations

from ..incident import Incident
from . import addresses, consuming, groups, producing, security, transactions

TABLES = (addresses, security, producing, groups, consuming, transactions)
INCIDENTS: dict[str, Incident] = {one.name: one for table in TABLES for one in table.INCIDENTS}
