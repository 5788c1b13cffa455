"""The pytest fixtures `kdbg_proxy` and `kdbg_mock`, which pytest finds by itself where kdbg is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .embedded import RunningMock, RunningProxy


@pytest.fixture
def kdbg_proxy() -> Iterator[Callable[..., RunningProxy]]:
    """Return `kdbg.proxy`, with proxies that are closed when the test ends."""
    from .embedded import proxy

    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(proxy(*given, **named))


@pytest.fixture
def kdbg_mock() -> Iterator[Callable[..., RunningMock]]:
    """Return `kdbg.mock`, with mocks that are closed when the test ends."""
    from .embedded import mock

    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(mock(*given, **named))
