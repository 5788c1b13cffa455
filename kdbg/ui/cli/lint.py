"""`kdbg lint`: captures in, what clients and brokers do against the protocol out."""

from __future__ import annotations

from typing import Any

import click

from . import UNDECODED
from .filters import connection_filter_options, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import take_look


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@text_or_json("per line")
@click.option("--notes/--no-notes", default=True, help="Include notes (default: notes).")
@look_options
@connection_filter_options
@input_options
def command(files: tuple[str, ...], format: str, notes: bool, **options: Any) -> int:
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
            with drive_ledgers(runner, file) as drive:
                linter = Linter(drive.ledgers)
                for chunk in drive.chunks():
                    linter.take(chunk)
            remarks = [one for one in linter.remarks() if notes or one.lint.severity is not Severity.NOTE]
            if any(one.lint.severity is not Severity.NOTE for one in remarks) and not runner.status:
                runner.status = UNDECODED
            output.write(file, map(remark_object, remarks), LintView(look).lines(remarks))
    runner.close()
    return runner.status
