"""`kdbg tables`: the Delta tables of a pipeline compacted, vacuumed, listed by version, and converted."""

from __future__ import annotations

import sys

import click

from ...extras import require
from ...protocol.findings.amounts import count
from .output import look

RETENTION = 7
"""Days for which vacuum keeps the files of former versions."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("action", type=click.Choice(["compact", "vacuum", "history", "migrate"]))
@click.argument("folder", metavar="DIR")
@click.option("--retention", type=click.FloatRange(0), metavar="DAYS",
              help="Keep the files of versions of the last DAYS days, with vacuum (default: 7).")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the files that vacuum would delete, and delete nothing.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Print at most N versions, with history.")
def command(action: str, folder: str, retention: float | None, dry_run: bool, limit: int | None) -> int:
    """Compact, vacuum, list and convert Delta tables.

    DIR has Delta Lake tables, as written by `kdbg pipeline`; a path or a URL. compact merges small files. vacuum
    deletes files that no version of the retention time refers to, such as those of killed runs. history lists the
    versions of each table. migrate converts tables of earlier versions of kdbg.

    \b
    kdbg tables compact tables/
    kdbg tables vacuum tables/ --retention 30 --dry-run
    kdbg tables history tables/
    """
    if action != "vacuum" and (dry_run or retention is not None):
        raise click.UsageError("--retention and --dry-run require vacuum")
    if action != "history" and limit is not None:
        raise click.UsageError("--limit requires history")
    require("kdbg tables", "query", "deltalake", "pyarrow")
    from ...scale.spark import maintenance
    from ...scale.spark.commit import Output
    from ...views.render.answers import table
    from ...views.render.values import escape

    output, style = Output(folder), look("auto", not sys.stdout.isatty(), False)
    if action == "compact":
        for name, before, after in maintenance.compact(output):
            if after < before:
                click.echo(f"{name}: {count(before, 'file')} merged into {after:,}")
    elif action == "vacuum":
        hours = round((RETENTION if retention is None else retention) * 24)
        for name, files in maintenance.vacuum(output, hours, dry_run=dry_run):
            for file in files if dry_run else ():
                click.echo(f"{name}/{escape(file)}")
            click.echo(f"{name}: {count(len(files), 'file')} {'to delete' if dry_run else 'deleted'}")
    elif action == "history":
        versions = sorted(maintenance.history(output), key=lambda one: one[2], reverse=True)[:limit]
        columns = ["table", "version", "time", "operation", "rows", "run"]
        rows = [(name, version, time.replace(microsecond=0), *more) for name, version, time, *more in versions]
        click.echo(table(columns, rows, style), nl=False)
    else:
        runs = maintenance.migrate(output)
        click.echo(f"converted the tables of {count(runs, 'run')}")
    return 0
