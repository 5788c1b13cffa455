"""What the tests of spans and metrics share."""

from __future__ import annotations

from ..cli.conftest import cli, write
from .received import collector, receiver

__all__ = ["cli", "collector", "receiver", "write"]
