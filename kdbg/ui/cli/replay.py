"""`kdbg replay` and `kdbg mock`: captures are read; their requests are sent again, or clients get their responses."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ...budget import MEMORY
from ...errors import CaptureError, ClientError
from . import INTERRUPTED, REFUSED, UNDECODED, printable
from .filters import filter_options, take_filters
from .options import (
    HELP,
    certificate_key_option,
    certificate_option,
    choice_option,
    files_argument,
    input_options,
    listen_options,
    value_look_options,
    write_option,
)
from .output import Writer, take_look
from .send.options import SendOptions, reach, security_options

if TYPE_CHECKING:
    from uuid import UUID

    from ...analysis.compare.answers import ReplayedRequest, Verdict
    from ...exchanges.messages.peers import End
    from ...live.listeners import Listening
    from ...live.mocking.recording import Recording
    from ...live.replaying.plan import Plan, ReplayStep
    from ...live.replaying.replay import Replay
    from ...live.session import Tap
    from ...views.render.style import Look

LARGEST = 100 << 20
"""Bytes of the largest answer that is taken."""
MOST_LINES = 1000
"""Lines of a mock that are remembered as said."""


def speed_factor(text: str) -> float | str:
    """Parse how many times as fast, or `max`."""
    if text == "max":
        return text
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e9:
        problem = f"invalid speed {text!r}; use 1 for the original timing, 10 for ten times that, or max"
        raise click.BadParameter(problem)
    return speed


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option("--broker", "-b", metavar="HOST:PORT,…",
              help="Set the target broker (default: --config or $KDBG_BROKER); mock: is a mock cluster.")  # fmt: skip
@click.option("--speed", type=speed_factor, default="1", metavar="N|max",
              help="Set the replay speed: 1 is the original timing, 10 is ten times faster, max does not wait "
                   "(default: 1).")  # fmt: skip
@click.option("--create-topics", is_flag=True, help="Create missing topics that the capture uses.")
@choice_option("summary", "tree", "json", help="Set the output format: requests, all differences, or JSON Lines.")
@write_option
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=HELP["timeout"])
@click.option("--only-named", is_flag=True, help=HELP["only-named"])
@click.option("--config", metavar="FILE", help=HELP["config"])
@filter_options
@value_look_options
@security_options
@input_options
def replay_command(
    files: tuple[str, ...], speed: float | str, create_topics: bool, format: str, write: str | None, **options: Any
) -> int:
    """Replay captured requests and compare the responses.

    kdbg sends the requests to a broker: on as many connections, in the same order, and at the times of the capture.
    It replaces values that the brokers assigned in the capture by those that this broker assigns: ids of members,
    producers, topics and sessions, epochs, offsets. kdbg lists the fields in which responses differ, except for
    fields that differ between any two runs.

    Exit status: 0 no differences; 1 a response differs or failed; 2 wrong usage; 130 on Ctrl-C.

    \b
    kdbg replay session.pcap --broker test:9092 --create-topics
    kdbg replay session.pcap --broker test:9092 --speed max --client-id billing
    kdbg replay session.pcap --broker test:9092 --where 'api == "Fetch"' -f tree
    """
    from ...analysis.compare.answers import Judge
    from ...analysis.compare.value_mapping import Counterparts
    from ...live.client.mock import mock_cluster
    from ...live.replaying.plan import Plan, wanted
    from ...live.replaying.replay import Replay
    from ...views.render.values import escape
    from .runner import Runner
    from .send.session import tap

    look = take_look(options)
    broker, settings = reach(SendOptions(**options | {"client_id": None, "max_response": LARGEST}))
    runner = Runner(take_filters(options), Writer())
    plan, captures = Plan(MEMORY.connections), list[str]()
    names: dict[UUID, str] = {}
    for file in runner.open(files):
        with file:
            captures.append(file.name)
            with runner.drive(file, counted=True) as drive:
                for exchange in drive:
                    plan.add(exchange, len(captures) - 1)
            names |= drive.engine.topic_names
    if not (runner.has_read and runner.is_complete):
        return runner.status
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    with mock_cluster(broker) as bootstrap, tap(write) as tapped:
        shown = ReplayOutput(plan, captures, format, look)
        judge = Judge(Counterparts(names), secrets=look.show_secrets, values=not look.hide_values)
        steps = plan.order().steps

        def tell(text: str) -> None:
            shown.writer.say(f"kdbg: {escape(text)}")

        replay = Replay(
            plan, bootstrap, settings, judge, speed=None if isinstance(speed, str) else speed,
            create=wanted(steps, names) if create_topics else None, show=shown.show, say=tell, tap=tapped,
        )  # fmt: skip
        return shown.through(replay)


class ReplayOutput:
    """Shows outcomes as they come, and counts them."""

    def __init__(self, plan: Plan, captures: list[str], format: str, look: Look) -> None:
        from ...views.render.comparison import replay_view

        self.writer = Writer(live=True)
        self._captures = captures
        names = [self._name(step) for step in plan.steps]
        self._render = replay_view(format, look, max(map(len, names), default=0))
        self._counts: Counter[Verdict] = Counter()
        self._talks = {step.talk for step in plan.steps}

    def show(self, step: ReplayStep, outcome: ReplayedRequest) -> None:
        """Show what came of a step."""
        self._counts[outcome.verdict] += 1
        self.writer.write(self._render(outcome, self._name(step)))

    def _name(self, step: ReplayStep) -> str:
        """Return how an exchange is called: by its number, of several captures after the name of its own."""
        from pathlib import Path

        number = str(step.exchange.number)
        return number if len(self._captures) == 1 else f"{Path(self._captures[step.talk[0]]).stem}#{number}"

    def through(self, replay: Replay) -> int:
        """Send all, and close with the counts; return the exit status."""
        import asyncio

        from ...analysis.compare.answers import Verdict
        from ...views.render.comparison import closing

        async def run() -> None:
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
            await replay.run()

        begun, status = monotonic(), 0
        try:
            asyncio.run(run())
        except asyncio.CancelledError:
            status = INTERRUPTED
        except ClientError as error:
            self.writer.say(f"kdbg: {printable(str(error))}")
            status = UNDECODED
        self.writer.flush()
        if not status and (self._counts[Verdict.DIFFERS] or self._counts[Verdict.FAILED]):
            status = UNDECODED
        if self._counts or status != UNDECODED:
            self.writer.say(closing(self._counts, len(self._talks), monotonic() - begun))
        return status


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@listen_options
@certificate_option
@certificate_key_option
@write_option
@filter_options
@input_options
def mock_command(
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

    from ...live.client.reach import server_context
    from ...live.client.settings import addresses
    from ...live.listeners import Listening
    from ...live.mocking.recording import NOTHING, Recording
    from ...live.proxy import SavingTap
    from ...views.render.values import escape
    from .runner import Runner

    host, port = addresses(listen, lowest_port=0)[0]
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
        status = asyncio.run(serve_mock(ordered, brokers, listening, saved, say))
    return REFUSED if saved is not None and saved.failed else status


async def serve_mock(
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
    told = set[str]()

    def tell_once(line: str) -> None:
        if line not in told and len(told) < MOST_LINES:
            told.add(line)
            say(line)

    mock = Mock(recording, listening, tap=saved, say=say, tell=tell_once)
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
