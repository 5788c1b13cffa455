"""The tables of the first screen: who spoke, with whom, about what, and what went wrong."""

from __future__ import annotations

from .dimensions import dimensions
from .table import StatsTable
from .tally import Tally

SECTIONS: dict[str, tuple[str, ...]] = {
    "clients": ("client", "host", "software"),
    "brokers": ("broker",),
    "apis": ("api",),
    "errors": ("error", "api", "client", "topic"),
}
"""The tables by name, with their dimensions; `errors` holds nothing else."""


class Overview(dict[str, StatsTable]):
    """The tables by name, and `whole`: all exchanges in one row."""

    whole: StatsTable

    def __init__(self) -> None:
        super().__init__({name: StatsTable(dimensions(by), erring=name == "errors") for name, by in SECTIONS.items()})
        self.whole = StatsTable(())

    @property
    def tables(self) -> list[StatsTable]:
        """All tables, to be filled."""
        return [self.whole, *self.values()]

    @property
    def total(self) -> Tally:
        """The numbers of all exchanges."""
        return self.whole.row(())
