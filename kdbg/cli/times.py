"""Points in time as people write them: seconds since the epoch, a date, a time of day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click


class When(click.ParamType):  # type: ignore[type-arg]
    """Turns what the user wrote into seconds since the epoch, or into a `TimeOfDay` that needs the capture's date."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value)
        except ValueError:
            pass
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: write 2026-11-21T12:30:01.5, or seconds since 1970", param, ctx)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
