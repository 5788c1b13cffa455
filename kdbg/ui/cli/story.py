"""`kdbg story`: captures in, one line of time out."""

from __future__ import annotations

from typing import Any

import click

from . import REFUSED
from .filters import connection_filter_options, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import take_look

KINDS = ("group", "producer", "topic", "client", "transaction", "connection")


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option("--group", metavar="GROUP", help="Print the timeline of a group, generation by generation.")
@click.option("--producer", metavar="ID", help="Print the timeline of a producer, by producer id or client id.")
@click.option("--topic", metavar="TOPIC", help="Print the timeline of a topic.")
@click.option(
    "--client", "--client-id", "client", metavar="CLIENT", help="Print the timeline of a client, by client id."
)
@click.option("--transaction", metavar="ID", help="Print the timeline of a transactional id.")
@click.option("--connection", metavar="NUMBER", help="Print the timeline of a connection.")
@text_or_json("per event, by time")
@look_options
@connection_filter_options
@input_options
def command(files: tuple[str, ...], format: str, **options: Any) -> int:
    """Print the timeline of a group, producer, topic or client.

    Transactional ids and connections have timelines as well. Each event is one sentence; the causes that `kdbg
    diagnose` finds are included. Without an option, kdbg lists the subjects.

    \b
    kdbg story captures/group-rebalance.pcap
    kdbg story captures/group-rebalance.pcap --group billing
    kdbg story broken.pcap --client shop --format json
    """
    from ...analysis.diagnosis.stories import subjects, tell
    from ...analysis.diagnosis.stories.text import event_object
    from ...views.render.diagnosis import StoryView
    from ...views.render.values import escape
    from .ledgers import LedgerOutput, ledger_runner, read_ledgers

    asked = {kind: options.pop(kind) for kind in KINDS}
    wanted = [(kind, name) for kind, name in asked.items() if name is not None]
    filters = take_filters(options)
    if len(wanted) > 1:
        raise click.UsageError("use only one of " + ", ".join(f"--{kind}" for kind in KINDS))
    look = take_look(options)
    runner = ledger_runner(files, filters)
    output = LedgerOutput(format, look, runner.writer, files)
    found = False
    for file in runner.open(files):
        with file:
            ledgers, view = read_ledgers(runner, file), StoryView(look)
            if not wanted:
                listed = list(subjects(ledgers))
                objects = ({"story": kind, "of": one.name, "facts": dict(one.facts)} for kind, one in listed)
                output.write(file, objects, view.listing(listed))
            elif (events := tell(ledgers, *wanted[0])) is not None:
                found = True
                output.write(file, (event_object(*wanted[0], event) for event in events), view.lines(events))
    runner.close()
    if wanted and not found and not runner.status:
        kind, name = wanted[0]
        runner.say(f"unknown {kind} {escape(name)}; kdbg story FILE lists all")
        return REFUSED
    return runner.status
