"""Messages are read where a conversation was played."""

from __future__ import annotations

from ..engine.conftest import cut, midway, playbook

__all__ = ["cut", "midway", "playbook"]
