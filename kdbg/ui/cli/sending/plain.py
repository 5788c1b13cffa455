"""A request sent once, without a second try: what a sweep and a measurement want to see is what came the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....errors import BuildError
from ....exchanges.messages.exchange import Exchange
from ....live.client.bodies import body_bytes
from ....live.client.defaults import waits
from .request import Request

if TYPE_CHECKING:
    from ....live.client import Cluster, Connection


class PlainRequest(NamedTuple):
    """The connection that a request belongs to, its body's bytes, and how long its answer is waited for (s)."""

    connection: Connection
    data: bytes
    timeout: float


async def written(cluster: Cluster, request: Request, version: int) -> PlainRequest:
    """Encode a request, and open the connection that it belongs to."""
    offered = request.version is None
    address = await cluster.address_for(request.api, request.body, version, offered=offered)
    body = await cluster.fit(request.api, version, request.body)
    try:
        data = body_bytes(request.api, version, body)
    except BuildError as error:
        raise request.refusal(error) from None
    return PlainRequest(await cluster.connect(address), data, cluster.settings.timeout + waits(request.api, body))


async def send_once(cluster: Cluster, request: Request, version: int) -> Exchange:
    """Send a request once, and return its exchange. Raise `ClientError` where no answer comes."""
    connection, data, timeout = await written(cluster, request, version)
    return await connection.answer(connection.send(request.api, version, data=data), timeout=timeout)
