"""`kdbg diagnose`: captures in, causes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import UNDECODED
from .filters import connection_filter_options, folder_of_tables, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import Writer, heading, take_look

if TYPE_CHECKING:
    from ...views.render.style import Look


@click.command(context_settings={"max_content_width": 100})
@files_argument("FILE…|DIR")
@text_or_json("per line, most severe first")
@click.option("--notes/--no-notes", default=True, help="Include after-effects and notes (default: notes).")
@look_options
@connection_filter_options
@input_options
def command(files: tuple[str, ...], format: str, notes: bool, **options: Any) -> int:
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
    """Tell the causes that a folder of tables holds, capture by capture; return the exit status.

    Raise `InputError` where it holds none because nobody asked for them.
    """
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
