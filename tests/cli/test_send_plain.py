"""Requests of a sweep or a measurement: made as those that are sent alone, and sent where those go."""

from __future__ import annotations

import pytest

import kdbg
from kdbg.errors import InputError, NotServed
from kdbg.protocol import grammars
from kdbg.ui.cli.send.request import FromBody
from kdbg.ui.cli.send.rounds import written

from ..client.brokers import Brokers
from ..client.clusters import started
from ..client.servers import Request, api_versions, in_loop

pytestmark = pytest.mark.usefixtures("_impatient")
JOIN, FETCH, METADATA = (grammars.api(name) for name in ("join-group", "fetch", "metadata"))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.live.client.cluster.PAUSES", (0,))


@in_loop
async def test_payloads_are_written_out() -> None:
    """As JSON has them, and as they are written in a request that is sent alone."""
    said = {"payload": "ConsumerProtocolSubscription", "value": {"version": 0, "topics": ["orders"]}}
    body = {"group_id": "g", "protocols": [{"name": "range", "metadata": said}]}
    async with started() as (_, cluster):
        _, data, _ = await written(cluster, FromBody(JOIN, 0, [], body), 0)
    found = kdbg.decode(data, api=JOIN.key, version=0, direction="request", header=False).body
    assert found["protocols"][0]["metadata"].value["topics"] == ["orders"]
    assert found["session_timeout_ms"] == 30_000, "what is left out is filled in"


@in_loop
async def test_what_does_not_fit_is_refused() -> None:
    async with started() as (_, cluster):
        with pytest.raises(InputError, match="Metadata v1: topics: 5 is not a list"):
            await written(cluster, FromBody(METADATA, 1, [], {"topics": 5}), 1)


@in_loop
async def test_answers_are_waited_for_as_long_as_the_request_says() -> None:
    async with started() as (_, cluster):
        *_, timeout = await written(cluster, FromBody(FETCH, 4, [], {"max_wait_ms": 7000}), 4)
        assert timeout == cluster.settings.timeout + 7


@in_loop
async def test_controllers_are_not_asked_for_what_they_do_not_serve() -> None:
    """Unless the user insists on a version."""

    def controller(brokers: Brokers, node: int, request: Request) -> bytes:
        return api_versions(request, {"ApiVersions": (0, 3), "Vote": (0, 1)})

    async with started() as (brokers, cluster):
        brokers.answers["ApiVersions"] = controller
        with pytest.raises(NotServed, match=r"does not support Metadata; it supports ApiVersions, Vote \(kdbg send"):
            await written(cluster, FromBody(METADATA, None, [], {}), 9)
        _, data, _ = await written(cluster, FromBody(METADATA, 9, [], {}), 9)
        assert data
