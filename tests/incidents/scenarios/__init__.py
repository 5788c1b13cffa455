"""The incidents, by what they are about; each module has a table of its own."""

from __future__ import annotations

from ..incident import Incident
from . import (
    addresses,
    administration,
    certificates,
    committing,
    consuming,
    dead_brokers,
    elsewhere,
    fetching,
    groups,
    habits,
    healthy,
    healthy_groups,
    healthy_jobs,
    membership,
    network,
    pending,
    permissions,
    producing,
    records,
    security,
    transactions,
    unreachable,
)  # fmt: skip

TABLES = (
    addresses, security, producing, groups, committing, consuming, fetching, transactions, network, elsewhere, healthy,
    healthy_groups, healthy_jobs, unreachable, certificates, permissions, administration, records, membership, pending,
    habits, dead_brokers,
)  # fmt: skip
INCIDENTS: dict[str, Incident] = {one.name: one for table in TABLES for one in table.INCIDENTS}
