"""`kdbg decode`: captures in, exchanges out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import (
    files_argument,
    index_option,
    input_options,
    jobs_option,
    latency_option,
    merge_option,
    message_look_options,
    reader_options,
    take_view_readers,
    tree_options,
    view_option,
)
from .output import heading, is_live, take_look, writing

if TYPE_CHECKING:
    from ...analysis.logs.join import Join
    from ...exchanges.messages.exchange import Exchange
    from .exchange_output import ExchangeOutput
    from .runner import Runner

FEW = 3
"""Files that are named in a hint."""


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@view_option("tree")
@filter_options
@message_look_options
@reader_options
@tree_options()
@jobs_option
@merge_option
@click.option("--log", multiple=True, metavar="FILE", type=click.Path(allow_dash=True),
              help="Show matching lines of this client or broker log with each exchange: kdbg guide logs.")  # fmt: skip
@latency_option
@index_option
@fail_on_option()
@input_options
def command(
    files: tuple[str, ...], format: str, jobs: int, no_pager: bool, log: tuple[str, ...], latency: bool,
    merge: bool | None, **options: Any,
) -> int:  # fmt: skip
    """Decode captures of Kafka traffic into requests and responses.

    FILE is a pcap or pcapng capture, also compressed (.gz, .zst); - reads from a pipe. Folders and globs select the
    files in them; other files in them are skipped.

    Captures of the same connections from several hosts, such as client.pcap and broker.pcap, are merged. Each
    exchange is then shown once, with its time in the network and in the broker; see kdbg guide merge.

    kdbg also decodes files from a broker's disk: log segments and KRaft snapshots batch by batch; indexes, producer
    snapshots and checkpoints entry by entry. It recognises them by their content; their paths contain topic,
    partition and first offset. --topic, --errors, --since, --until and --limit select batches and entries.

    The exit status is 1 if something could not be decoded; --format summary does not decode record batches.

    \b
    kdbg decode captures/first-contact.pcap --format summary
    kdbg decode captures/errors.pcap --errors
    kdbg decode /var/lib/kafka/orders-0/00000000000000000000.log -f summary
    tcpdump -i any -U -w - tcp port 9092 | kdbg decode -
    """
    from .exchange_output import ExchangeOutput, depth_of
    from .inputs import AUTO
    from .runner import Runner

    read = take_view_readers(options, format, "kdbg records, or ")
    if latency and format == "summary":
        raise click.UsageError("--latency requires --format tree, hex or json")
    shape, wanted = take_look(options, format, read), take_filters(options)
    timed = latency or (wanted.timed and format != "summary")
    with ExitStack() as stack:
        joins: list[Join] = []
        for name in log:
            from ...analysis.logs import join
            from ...analysis.logs.log import ApplicationLog, has_lines
            from ...capture.source import open_source
            from ...errors import CaptureError

            source = open_source(name)
            stack.callback(source.close)
            if not has_lines(source):
                raise CaptureError(name, "no protocol lines of a client or broker", "see kdbg guide logs")
            joins.append(join.Join(name if len(log) > 1 else "", ApplicationLog(source).blocks()))
        live = any(is_live(file) for file in files)
        writer = stack.enter_context(writing(live=live, pager=not no_pager and jobs <= 1))
        runner = Runner(
            wanted, writer, logs=True, disk=True, merge=merge, timed=timed, depth=depth_of(format), index=True,
            jobs=1 if jobs == AUTO and sys.stdout.isatty() else jobs,  # whoever reads along wants the first screen
        )  # fmt: skip
        write_files(files, runner, ExchangeOutput(runner, format, shape), joins)
    return runner.status


def write_files(files: Sequence[str], runner: Runner, output: ExchangeOutput, joins: Sequence[Join] = ()) -> None:
    """Write what is in files, each under its name where there are several; close with counts, and with a hint.

    `joins` add to exchanges the lines of logs that speak of them.
    """
    from ...protocol.findings.amounts import count

    def join(exchange: Exchange) -> None:
        for one in joins:
            one.join(exchange)

    for file in runner.open(files):
        with file:
            segment = None
            if file.disk is not None:
                from .segment import SegmentOutput

                segment = SegmentOutput(runner, file.disk, output)
            if file.several and not output.view.data:
                runner.writer.write(heading(output.look, file.path))
            if segment is not None:
                runner.disk_files += 1
                segment.write()
                continue
            output.headed = runner.files > 1 and not file.several
            with runner.drive(file, hear=join if joins else None, attempts=output.attempts(), counted=True) as drive:
                output.write(file, drive, here=bool(joins))
    if runner.has_read:
        more: list[str] = []
        if runner.disk_files:
            from .segment import closing

            more = closing(runner.counts)
        for one in joins:
            one.finish()
        if joins:
            lines = count(sum(one.lines for one in joins), "log line")
            more.append(f"{sum(one.joined for one in joins):,} of {lines} matched")
        runner.close(runner.closing(*more))
    wrong, shown = runner.counts["wrong"], runner.counts["shown"]
    if wrong and shown > wrong and not any(map(is_live, files)):  # much was shown on a terminal: say what to look at
        import shlex

        from ...views.render.values import escape
        from ...views.render.views import VIEWS

        names = " ".join(shlex.quote(file) for file in files[:FEW]) + " …" * (len(files) > FEW)
        same = "" if output.view is VIEWS["tree"] else " --format summary"
        runner.writer.say(f"{count(wrong, 'exchange')} with errors: kdbg decode {escape(names)} --errors{same}")
