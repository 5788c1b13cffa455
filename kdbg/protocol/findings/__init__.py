"""What is odd in the traffic, as data: a finding never stops the decoding around it."""

from __future__ import annotations

from .finding import Finding, Side, pack, unpack
from .kinds import Kind, Severity

__all__ = ["Finding", "Kind", "Severity", "Side", "pack", "unpack"]
