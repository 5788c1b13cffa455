"""`kdbg diagnose`, `lint`, `readiness`, `story`: captures in, what their ledgers tell out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ...extras import require
from . import REFUSED
from .failing import fail_on_option
from .filters import connection_filter_options, folder_of_tables, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import take_look

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...analysis.ledgers import Ledgers
    from ...exchanges.messages.exchange import Exchange
    from ...views.render.style import Look

KINDS = ("group", "producer", "topic", "client", "transaction", "connection")
"""What `kdbg story` tells of."""


@click.command(context_settings={"max_content_width": 100})
@files_argument("FILE…|DIR", required=False)
@click.option(
    "--explain-rule", metavar="NAME", help="Print how the rule for a cause finds it, and how often it was right."
)
@text_or_json("per line, most severe first")
@click.option("--notes/--no-notes", default=True, help="Include after-effects and notes (default: notes).")
@look_options
@connection_filter_options
@fail_on_option("finding")
@input_options
def diagnose_command(files: tuple[str, ...], explain_rule: str | None, format: str, notes: bool, **options: Any) -> int:
    """Find root causes of failures, with evidence and fixes.

    Each cause names what happens, the client or broker concerned, since when, the evidence, and what to change. A
    cause is certain, likely or a guess. Each capture is diagnosed separately. For a folder of tables, kdbg prints
    the causes that `kdbg pipeline --diagnose` found. The exit status is 1 if there is a cause above a note.

    \b
    kdbg diagnose captures/errors.pcap
    kdbg diagnose broken.pcap --format json
    kdbg diagnose tables/
    kdbg diagnose --explain-rule hot-partition
    """
    filters, look = take_filters(options), take_look(options)
    if explain_rule is not None:
        return write_rule(explain_rule, format, look)
    if not files:
        context = click.get_current_context()
        raise click.MissingParameter(
            ctx=context, param=next(one for one in context.command.params if one.name == "files")
        )
    folder = folder_of_tables(files, filters)
    from ...analysis.diagnosis import diagnose
    from .ledgers import LedgerOutput

    output = LedgerOutput(files, filters, format, look)
    if folder is None:
        for file, ledgers in output.read():
            output.write_cases(file.source.name, diagnose(ledgers), file.source.name, notes=notes, ledgers=ledgers)
        return output.runner.status
    require("kdbg diagnose", "query", "deltalake", "pyarrow")
    from ...scale.spark.causes import judgements

    found = list(judgements(folder))
    output.several = len(found) > 1
    for capture, in_pieces, cases in found:
        file_name = "" if in_pieces else capture  # no command takes all pieces of a capture as one
        output.write_cases(capture, cases, file_name, notes=notes)
    output.runner.writer.flush()
    return output.runner.status


def write_rule(name: str, format: str, look: Look) -> int:
    """Write how a rule finds its cause; return the exit status."""
    from ...analysis.diagnosis.rules import RULES
    from ...analysis.diagnosis.text import rule_object
    from ...views.render.diagnosis import rule_lines

    if name not in RULES:
        raise click.UsageError(f"unknown cause {name}; kdbg guide causes lists all")
    if format == "json":
        click.echo(json.dumps(rule_object(RULES[name])))
    else:
        click.echo("".join(rule_lines(RULES[name], look)), nl=False)
    return 0


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@text_or_json("per line")
@click.option("--notes/--no-notes", default=True, help="Include notes (default: notes).")
@look_options
@connection_filter_options
@fail_on_option("finding")
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
    from .ledgers import LedgerOutput

    look = take_look(options)
    linter: Linter
    output = LedgerOutput(files, take_filters(options), format, look)

    def hear(ledgers: Ledgers) -> Callable[[list[Exchange]], None]:
        nonlocal linter
        linter = Linter(ledgers)
        return linter.take

    for file, _ in output.read(hear):
        remarks = [one for one in linter.remarks() if notes or one.lint.severity is not Severity.NOTE]
        found = [one.lint.severity for one in remarks]
        output.write(file.source.name, map(remark_object, remarks), LintView(look).lines(remarks), found=found)
    return output.runner.status


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option(
    "--kafka", "release", default="4.0", metavar="RELEASE", help="Set the target broker release (default: 4.0)."
)
@text_or_json("per client and line")
@look_options
@connection_filter_options
@fail_on_option()
@input_options
def readiness_command(files: tuple[str, ...], release: str, format: str, **options: Any) -> int:
    """List clients that a broker upgrade would break.

    For each client kdbg prints the API and the version that brokers of the target release no longer support. The exit
    status is 1 if the upgrade would break a client.

    \b
    kdbg readiness captures/old-versions.pcap
    kdbg readiness week.pcap --kafka 4.1 --format json
    """
    from ...analysis.diagnosis.readiness import client_object, readiness
    from ...errors import InputError
    from ...protocol.findings import Severity
    from ...protocol.grammars import releases
    from ...views.render.diagnosis import ReadinessView
    from .ledgers import LedgerOutput

    look = take_look(options)
    output = LedgerOutput(files, take_filters(options), format, look)
    if releases.rank(release) > releases.rank(releases.newest()):
        raise InputError(f"unknown release {release}; the newest that kdbg knows is {releases.newest()}")
    severities = {"stops": Severity.ERROR, "unclear": Severity.WARNING}
    for file, ledgers in output.read():
        clients = readiness(ledgers, release)
        objects = (client_object(client, release) for client in clients)
        lines = ReadinessView(look, release).lines(clients)
        found = [severities.get(client.verdict, Severity.NOTE) for client in clients]
        output.write(file.source.name, objects, lines, found=found, usual="error")
    return output.runner.status


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
    from .ledgers import LedgerOutput

    asked = {kind: options.pop(kind) for kind in KINDS}
    wanted = [(kind, name) for kind, name in asked.items() if name is not None]
    filters = take_filters(options)
    if len(wanted) > 1:
        raise click.UsageError("use only one of " + ", ".join(f"--{kind}" for kind in KINDS))
    look = take_look(options)
    output, found = LedgerOutput(files, filters, format, look), False
    for file, ledgers in output.read():
        view = StoryView(look)
        if not wanted:
            listed = list(subjects(ledgers))
            stories = ({"story": kind, "of": one.name, "facts": dict(one.facts)} for kind, one in listed)
            output.write(file.source.name, stories, view.listing(listed))
        elif (events := tell(ledgers, *wanted[0])) is not None:
            found = True
            objects = (event_object(*wanted[0], event) for event in events)
            output.write(file.source.name, objects, view.lines(events))
    if wanted and not found and not output.runner.status:
        kind, name = wanted[0]
        output.runner.say(f"unknown {kind} {escape(name)}; kdbg story FILE lists all")
        return REFUSED
    return output.runner.status
