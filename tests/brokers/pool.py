"""The clusters of a test run: each is started when first asked for, shared from then on, and closed at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from .classpath import Unavailable, cache
from .cluster import Cluster, start
from .releases import release

REQUIRED = ("CI", "KDBG_REQUIRE_BROKERS")


class Pool:
    """What tests share; a broker that one test stopped runs again for the next."""

    def __init__(self) -> None:
        self._clusters: dict[tuple[str, int, bool, bool], Cluster] = {}

    def cluster(self, name: str, *, nodes: int = 1, secure: bool = False, unstable: bool = False) -> Cluster:
        """This cluster, with all of its brokers running."""
        wanted = (release(name).version, nodes, secure, unstable)
        if wanted in self._clusters:
            self._clusters[wanted].heal()
        else:
            with needed():
                self._clusters[wanted] = start(name, nodes=nodes, secure=secure, unstable=unstable)
        return self._clusters[wanted]

    def close(self, *, keep_logs: bool) -> None:
        """Stop everything; the logs of a failed run stay in the cache."""
        clusters = list(self._clusters.values())
        self._clusters.clear()
        for cluster in clusters if keep_logs else ():
            _keep(cluster, cache() / "logs" / cluster.home.name)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Cluster.close, clusters))


@contextmanager
def needed() -> Iterator[None]:
    """A block without which a test can't run: where brokers can't be had it is skipped, where they must it fails."""
    try:
        yield
    except Unavailable as problem:
        if any(os.environ.get(name) for name in REQUIRED):
            raise
        pytest.skip(f"no brokers: {problem}")


def _keep(cluster: Cluster, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for log in cluster.logs():
        shutil.copy(log, folder)
