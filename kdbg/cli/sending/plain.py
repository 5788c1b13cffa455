"""A request sent once, without a second try: what a sweep and a measurement want to see is what came the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import BuildError
from ...messages.exchange import Exchange
from ...messages.guide_names import understood
from ...wire.nodes import build
from .request import Request

if TYPE_CHECKING:
    from ...client import Cluster, Connection


async def written(cluster: Cluster, request: Request, version: int) -> tuple[Connection, bytes]:
    """The connection that a request belongs to, and its body's bytes."""
    address = await cluster.address_for(request.api, request.body)
    body = await cluster.fit(request.api, version, request.body)
    try:
        data = build(understood(request.api, "request", version, body)[0], body)
    except BuildError as error:
        raise request.refusal(error) from None
    return await cluster.connect(address), data


async def send_once(cluster: Cluster, request: Request, version: int) -> Exchange:
    """The exchange; raises `ClientError`."""
    connection, data = await written(cluster, request, version)
    return await connection.answer(connection.send(request.api, version, data=data))
