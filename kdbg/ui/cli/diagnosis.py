"""`kdbg diagnose`, `lint`, `readiness`, `story`: captures in, what their ledgers tell out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import REFUSED, UNDECODED
from .filters import connection_filter_options, folder_of_tables, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import Writer, heading, take_look

if TYPE_CHECKING:
    from ...views.render.style import Look

KINDS = ("group", "producer", "topic", "client", "transaction", "connection")
"""What `kdbg story` tells of."""


@click.command(context_settings={"max_content_width": 100})
@files_argument("FILE…|DIR")
@text_or_json("per line, most severe first")
@click.option("--notes/--no-notes", default=True, help="Include after-effects and notes (default: notes).")
@look_options
@connection_filter_options
@input_options
def diagnose_command(files: tuple[str, ...], format: str, notes: bool, **options: Any) -> int:
    """Find root causes of failures, with evidence and fixes.

    Each cause names what happens, the client or broker concerned, since when, the evidence, and what to change. A
    cause is certain, likely or a guess. Each capture is diagnosed separately. For a folder of tables, kdbg prints
    the causes that `kdbg pipeline --diagnose` found. The exit status is 1 if there is a cause above a note.

    \b
    kdbg diagnose captures/errors.pcap
    kdbg diagnose broken.pcap --format json
    kdbg diagnose tables/
    """
    filters, look = take_filters(options), take_look(options)
    if folder := folder_of_tables(files, filters):
        return diagnose_tables(folder, format, look, notes)
    from .ledgers import CauseWriter, LedgerOutput, ledger_runner, read_ledgers

    runner = ledger_runner(files, filters)
    output = LedgerOutput(format, look, runner.writer, files)
    causes = CauseWriter(format, look, runner.writer, notes)
    for file in runner.open(files):
        with file:
            ledgers = read_ledgers(runner, file)
            if format != "json":
                output.head(file)
            if causes.whole(ledgers, file.source.name, named=output.is_one_of_several(file)) and not runner.status:
                runner.status = UNDECODED
    runner.close()
    return runner.status


def diagnose_tables(folder: str, format: str, look: Look, notes: bool) -> int:
    """Tell the causes that a folder of tables holds, capture by capture; return the exit status."""
    from ...scale.spark.causes import judgements
    from .ledgers import CauseWriter

    writer = Writer()
    causes = CauseWriter(format, look, writer, notes)
    found = list(judgements(folder))
    several = len(found) > 1
    worst = []
    for one in found:
        if several and format != "json":
            writer.write(heading(look, one.capture))
        file = "" if one.pieces else one.capture  # no command takes all pieces of a capture as one
        worst.append(causes.tell(one.cases, file, one.capture if several else None))
    writer.flush()
    return UNDECODED if any(worst) else 0


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@text_or_json("per line")
@click.option("--notes/--no-notes", default=True, help="Include notes (default: notes).")
@look_options
@connection_filter_options
@input_options
def lint_command(files: tuple[str, ...], format: str, notes: bool, **options: Any) -> int:
    """Report protocol violations and bad practices.

    Each violation is listed by client id, host and software, with its number of occurrences and the first exchange.
    The exit status is 1 if there is a violation above a note.

    \b
    kdbg lint captures/first-contact.pcap
    kdbg lint captures/old-versions.pcap --no-notes --format json
    """
    from ...analysis.diagnosis.lint import Linter, remark_object
    from ...protocol.findings import Severity
    from ...views.render.diagnosis import LintView
    from .ledgers import LedgerOutput, drive_ledgers, ledger_runner

    look = take_look(options)
    runner = ledger_runner(files, take_filters(options))
    output = LedgerOutput(format, look, runner.writer, files)
    for file in runner.open(files):
        with file:
            with drive_ledgers(runner, file) as (ledgers, chunks):
                linter = Linter(ledgers)
                for chunk in chunks:
                    linter.take(chunk)
            remarks = [one for one in linter.remarks() if notes or one.lint.severity is not Severity.NOTE]
            if any(one.lint.severity is not Severity.NOTE for one in remarks) and not runner.status:
                runner.status = UNDECODED
            output.write(file, map(remark_object, remarks), LintView(look).lines(remarks))
    runner.close()
    return runner.status


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option(
    "--kafka", "release", default="4.0", metavar="RELEASE", help="Set the target broker release (default: 4.0)."
)
@text_or_json("per client and line")
@look_options
@connection_filter_options
@input_options
def readiness_command(files: tuple[str, ...], release: str, format: str, **options: Any) -> int:
    """List clients that a broker upgrade would break.

    For each client kdbg prints the API and the version that brokers of the target release no longer support. The exit
    status is 1 if the upgrade would break a client.

    \b
    kdbg readiness captures/old-versions.pcap
    kdbg readiness week.pcap --kafka 4.1 --format json
    """
    from ...analysis.diagnosis.readiness import client_object, readiness, would_stop
    from ...errors import InputError
    from ...protocol.grammars import releases
    from ...views.render.diagnosis import ReadinessView
    from .ledgers import LedgerOutput, ledger_runner, read_ledgers

    look = take_look(options)
    runner = ledger_runner(files, take_filters(options))
    output = LedgerOutput(format, look, runner.writer, files)
    if releases.rank(release) > releases.rank(releases.newest()):
        raise InputError(f"unknown release {release}; the newest that kdbg knows is {releases.newest()}")
    for file in runner.open(files):
        with file:
            clients = readiness(read_ledgers(runner, file), release)
            if would_stop(clients) and not runner.status:
                runner.status = UNDECODED
            objects = (client_object(client, release) for client in clients)
            output.write(file, objects, ReadinessView(look, release).lines(clients))
    runner.close()
    return runner.status


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
def story_command(files: tuple[str, ...], format: str, **options: Any) -> int:
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
