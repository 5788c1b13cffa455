"""The pytest fixture `kdbg_proxy`, which pytest finds by itself where kdbg is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .running import RunningProxy


@pytest.fixture
def kdbg_proxy() -> Iterator[Callable[..., RunningProxy]]:
    """Return `kdbg.proxy`, with proxies that are closed when the test ends."""
    from .running import proxy

    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(proxy(*given, **named))
