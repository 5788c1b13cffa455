"""What tests on real loopback traffic need: the right to capture, and a broker that talks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ctypes.util import find_library
from typing import Any

import pytest

from kdbg.live.client.mock import mock_cluster

from .watches import Watch


@pytest.fixture(scope="session")
def capturing() -> None:
    """Skip where this process may not capture."""
    if not hasattr(socket, "AF_PACKET"):
        pytest.skip("capturing is for Linux")
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        pytest.skip("capturing needs root, or CAP_NET_RAW")
    if find_library("pcap") is None:
        pytest.skip("libpcap, which compiles capture filters, is not installed: apt-get install libpcap0.8")


@pytest.fixture
def broker() -> Iterator[str]:
    """The address of a mock broker of librdkafka's, in this process."""
    with mock_cluster("mock:") as address:
        yield address


@pytest.fixture
def watching() -> Iterator[Any]:
    """Begin to watch loopback; whatever is left is killed."""
    begun: list[Watch] = []

    def begin(*arguments: object, **environment: str) -> Watch:
        begun.append(Watch("-i", "lo", "-f", "json", *arguments, **environment))
        return begun[-1]

    yield begin
    for watch in begun:
        watch.process.kill()
        watch.process.communicate()
