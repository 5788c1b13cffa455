"""One run of `kdbg mock`: captures are read, then clients are answered until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from ...analysis.logs.log import ApplicationLog
from ...budget import MEMORY
from ...capture import Capture
from ...errors import CaptureError
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.peers import End
from ...live.client import tls as client_tls
from ...live.client.settings import addresses
from ...live.listeners import Listening, is_local
from ...live.mocking.recording import NOTHING, Recording
from ...live.mocking.serve import Mock
from ...live.packet_tap import saving
from ...live.session import Tap
from ...protocol.findings.amounts import count
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED
from .output import Writer
from .runner import Captures


@dataclass(frozen=True)
class MockOptions:
    """Where to listen, and the capture to write."""

    listening: Listening
    write: str | None


def options_of(given: dict[str, Any]) -> MockOptions:
    """Take the mock's own options out of those given; raise `InputError` for what cannot be."""
    host, port = addresses(given.pop("listen"))[0]
    certificate, key = given.pop("listen_cert"), given.pop("listen_key")
    clients = client_tls.server_context(certificate, key) if certificate else None
    return MockOptions(Listening(host, port, given.pop("advertise") or "", clients), given.pop("write"))


def run(files: Sequence[str], options: MockOptions, filters: Filters) -> int:
    """Read captures, and answer clients from them until Ctrl-C; return the exit status."""
    gathered = Gathered(filters, Writer()).of(files)
    if gathered.status in (REFUSED, INTERRUPTED) or not gathered.has_read:
        return gathered.status
    recording = gathered.recording.order(gathered.names)
    if not recording:
        raise CaptureError(", ".join(files), NOTHING)
    with saving(options.write, lambda line: gathered.say(escape(line))) as saved:
        status = asyncio.run(serve(recording, gathered.brokers, options, saved, gathered.say))
    return REFUSED if saved is not None and saved.failed else status


class Gathered(Captures):
    """Reads captures into a recording; `brokers` are those that connections went to, in their order."""

    counts_itself = True  # not at all: what is gathered has no closing line

    def __init__(self, filters: Filters, writer: Writer) -> None:
        super().__init__(filters, writer)
        self.recording: Recording = Recording(MEMORY.connections)
        self.names: dict[UUID, str] = {}
        self.brokers: list[End] = []

    def of(self, files: Sequence[str]) -> Self:
        """Read the files; return this."""
        self.captures(files)
        return self

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Gather the exchanges of a capture."""
        with self.driven(capture, name) as drive:
            for exchange in drive:
                self.recording.add(exchange)
                if exchange.peers.broker not in self.brokers:
                    self.brokers.append(exchange.peers.broker)
        self.names |= self.engine.topic_names

    def close(self) -> None:
        """Say nothing: what can be answered is said once it can be."""


async def serve(
    recording: Recording, brokers: Sequence[End], options: MockOptions, saved: Tap | None, say: Any
) -> int:  # fmt: skip
    """Answer until told to end; return the exit status."""
    over = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, over.set)
    said = lambda line: say(escape(line))  # noqa: E731
    mock = Mock(recording, options.listening, tap=saved, say=said, tell=_once(said))
    mock.listen(brokers)
    if not is_local(options.listening.host):
        say(
            f"warning: any host that can reach {escape(options.listening.host)} gets responses; use --listen "
            "127.0.0.1 for local use only"
        )
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
        if line not in told and len(told) < 1000:
            told.add(line)
            say(line)

    return tell
