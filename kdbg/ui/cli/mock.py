"""`kdbg mock`: captures are read, then clients are answered from them until Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from . import INTERRUPTED, REFUSED
from .filters import filter_options, take_filters
from .options import (
    certificate_key_option,
    certificate_option,
    files_argument,
    input_options,
    listen_options,
    write_option,
)
from .output import Writer

if TYPE_CHECKING:
    from uuid import UUID

    from ...exchanges.messages.peers import End
    from ...live.listeners import Listening
    from ...live.mocking.recording import Recording
    from ...live.session import Tap

MOST_LINES = 1000
"""Lines that are remembered as said."""


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@listen_options
@certificate_option
@certificate_key_option
@write_option
@filter_options
@input_options
def command(
    files: tuple[str, ...], listen: str, advertise: str | None, listen_cert: str | None, listen_key: str | None,
    write: str | None, **options: Any,
) -> int:  # fmt: skip
    """Mock brokers: serve recorded responses to clients.

    kdbg replaces the brokers of the captures, for tests without a cluster. Each request gets the response that the
    most similar recorded request got: the same API, in the requested version, for the same topics, partitions and
    groups. Clients see only the APIs and versions with recorded responses, and the addresses of this process. A
    request without a recorded response gets an error, and kdbg reports it.

    The mock stores nothing that clients produce. For a cluster that stores records, without Kafka, use kdbg proxy -b
    mock:

    \b
    kdbg mock session.pcap
    kdbg mock session.pcap --client-id billing --listen 127.0.0.1:29092
    """
    import asyncio

    from ...budget import MEMORY
    from ...errors import CaptureError
    from ...live.client.reach import server_context
    from ...live.client.settings import addresses
    from ...live.listeners import Listening
    from ...live.mocking.recording import NOTHING, Recording
    from ...live.proxy import SavingTap
    from ...views.render.values import escape
    from .runner import Runner

    host, port = addresses(listen)[0]
    clients = server_context(listen_cert, listen_key) if listen_cert else None
    listening = Listening(host, port, advertise or "", clients)
    runner = Runner(take_filters(options), Writer())
    recording = Recording(MEMORY.connections)
    names: dict[UUID, str] = {}
    brokers: list[End] = []
    for file in runner.open(files):
        with file:
            with runner.drive(file, counted=True) as drive:
                for exchange in drive:
                    recording.add(exchange)
                    if exchange.peers.broker not in brokers:
                        brokers.append(exchange.peers.broker)
            names |= drive.engine.topic_names
    if not (runner.has_read and runner.is_complete):
        return runner.status
    ordered = recording.order(names)
    if not ordered:
        raise CaptureError(", ".join(files), NOTHING)
    say = lambda line: runner.say(escape(line))  # noqa: E731
    saved = SavingTap(write, say) if write is not None else None
    with saved or nullcontext():
        status = asyncio.run(serve(ordered, brokers, listening, saved, say))
    return REFUSED if saved is not None and saved.failed else status


async def serve(
    recording: Recording, brokers: Sequence[End], listening: Listening, saved: Tap | None, say: Callable[[str], None]
) -> int:  # fmt: skip
    """Answer until told to end; return the exit status."""
    import asyncio

    from ...live.client.settings import is_local
    from ...live.mocking.serve import Mock
    from ...protocol.findings.amounts import count

    over = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, over.set)
    mock = Mock(recording, listening, tap=saved, say=say, tell=_once(say))
    mock.listen(brokers)
    if not is_local(listening.host):
        say(f"warning: any host that can reach {listening.host} gets responses; use --listen 127.0.0.1 for local use "
            "only")  # fmt: skip
    say(f"{count(recording.answers, 'recorded response')} for {count(len(recording.offered), 'API')}")
    await over.wait()
    await mock.close()
    answers = mock.answers
    say(f"{count(mock.connections, 'connection')} · {count(answers.answered, 'request')} served · "
        f"{answers.refused:,} without a recorded response · {answers.rejected:,} rejected")  # fmt: skip
    return INTERRUPTED


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return what says each line once, of the first thousand."""
    told = set[str]()

    def tell(line: str) -> None:
        if line not in told and len(told) < MOST_LINES:
            told.add(line)
            say(line)

    return tell
