"""The brokers as fixtures; see tests/brokers/__init__.py for what they need and how they are shared."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from ..cases import by_day
from .broker import Broker
from .cluster import Cluster
from .pool import Pool
from .releases import RELEASES, Release


def pytest_itemcollected(item: pytest.Item) -> None:
    """One worker of pytest-xdist runs all of these (`--dist loadgroup`), so that each broker is started once."""
    item.add_marker(pytest.mark.xdist_group("brokers"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the brokers it had logged last."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for value in item.funcargs.values():
            brokers = [value] if isinstance(value, Broker) else value.brokers if isinstance(value, Cluster) else []
            for broker in brokers:
                name = f"log of Kafka {broker.version}, node {broker.node}"
                report.sections.append((name, broker.process.log_tail()))
    return report


@pytest.fixture(scope="session")
def brokers(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """All of them, by name: `brokers.cluster("2.8").brokers[0]`."""
    pool = Pool()
    yield pool
    pool.close(keep_logs=request.session.testsfailed > 0)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests a broker of each release in turn, by day of every other one: the oldest, the newest, one between."""
    own = any("broker" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "broker" in metafunc.fixturenames and not own:
        some = by_day(RELEASES, 2)  # when this file is imported, nobody knows yet whether it is night
        metafunc.parametrize("broker", some, indirect=True, ids=lambda release: f"kafka-{release.version}")


@pytest.fixture
def broker(request: pytest.FixtureRequest, brokers: Pool) -> Broker:
    """One broker of the release that a test is given."""
    release: Release = request.param
    return brokers.cluster(release.version).brokers[0]


@pytest.fixture
def broker_3_9(brokers: Pool) -> Broker:
    return brokers.cluster("3.9").brokers[0]


@pytest.fixture
def broker_4(brokers: Pool) -> Broker:
    return brokers.cluster("4").brokers[0]


@pytest.fixture
def unstable_broker(brokers: Pool) -> Broker:
    """Kafka 4 with the API versions that are still in the making."""
    return brokers.cluster("4", unstable=True).brokers[0]


@pytest.fixture
def secure_cluster(brokers: Pool) -> Cluster:
    """One broker with listeners for TLS and SASL, and the certificates and users that go with them."""
    return brokers.cluster("3.9", secure=True)


@pytest.fixture
def secure_broker(secure_cluster: Cluster) -> Broker:
    return secure_cluster.brokers[0]


@pytest.fixture
def cluster(brokers: Pool) -> Cluster:
    """Three brokers of Kafka 4; one that a test stopped runs again for the next."""
    return brokers.cluster("4", nodes=3)
