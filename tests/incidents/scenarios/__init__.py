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
    delays,
    elsewhere,
    fetching,
    groups,
    habits,
    healthy,
    healthy_groups,
    healthy_jobs,
    healthy_starts,
    membership,
    network,
    other_brokers,
    other_clients,
    others,
    pending,
    permissions,
    producing,
    records,
    refusals,
    routines,
    security,
    transactions,
    unreachable,
)  # fmt: skip

TABLES = (
    addresses, security, producing, groups, committing, consuming, fetching, transactions, network, elsewhere, healthy,
    healthy_groups, healthy_jobs, healthy_starts, unreachable, certificates, permissions, administration, refusals,
    records, membership, pending, habits, delays, dead_brokers, other_clients, others, other_brokers, routines,
)  # fmt: skip
INCIDENTS: dict[str, Incident] = {one.name: one for table in TABLES for one in table.INCIDENTS}
