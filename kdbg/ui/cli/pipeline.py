"""`kdbg pipeline`: archives of captures in, tables out, on Spark."""

from __future__ import annotations

from typing import Any

import click

from .definitions import GIVEN, definitions_option
from .filters import archive_filter_options, take_archive_filters
from .memory import memory_option
from .options import HELP
from .sizes import Size

LEAST_SPLIT = 1 << 16
DURATIONS = {"s": 1, "m": 60, "h": 3600}


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A duration such as 30s, 10m or 2h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).lower()
        number, unit = (text[:-1], text[-1]) if text[-1:] in DURATIONS else (text, "s")
        if not number.isdecimal() or len(number) > 9 or not int(number):
            self.fail(f"invalid duration {value!r}; use 30s, 10m or 2h", param, ctx)
        return float(int(number) * DURATIONS[unit])


class Setting(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, setting = str(value).partition("=")
        if not name or not equals:
            self.fail(f"invalid property {value!r}; use NAME=VALUE, such as spark.executor.memory=4g", param, ctx)
        return name, setting


@click.command(context_settings={"max_content_width": 100})
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURES…")
@click.option("--out", required=True, metavar="DIR", help="Write the tables to this folder; a path or a URL.")
@click.option("--master", metavar="URL", help="Set the Spark master: local[N], spark://…, yarn, k8s://…, or sc://… "
                                              "(default: this machine).")  # fmt: skip
@click.option("--conf", multiple=True, type=Setting(), metavar="K=V", help=HELP["conf"])
@click.option("--py-files", metavar="ZIP", help="Ship this kdbg zip to the cluster's executors.")
@click.option("--split", type=Size(LEAST_SPLIT), default="64M", help="Set the bytes of a file per task (default: 64M).")
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    help="Set the number of reassembly tasks (default: by input size).",
)
@click.option(
    "--rolled", is_flag=True, help="Treat all files of a folder as one rotated capture, whatever their names."
)
@click.option("--records", is_flag=True, help="Write the records table as well (metadata only).")
@click.option("--values", is_flag=True, help="Write record keys, values and headers as well.")
@click.option("--diagnose", is_flag=True, help="Diagnose each capture as well; kdbg diagnose DIR prints the causes.")
@click.option("--append", is_flag=True, help="Append to existing tables and skip files already in them.")
@click.option("--follow", is_flag=True, help="Keep running and add new data in batches.")
@click.option(
    "--interval", type=Seconds(), default="30s", help="Set the interval between --follow batches (default: 30s)."
)
@click.option("--until-idle", type=Seconds(), metavar="TIME", help="Stop --follow after this time without new data.")
@click.option("--forget", type=Seconds(), default="10m",
              help="Treat a connection as closed after this idle time, with --follow (default: 10m).")  # fmt: skip
@archive_filter_options
@click.option("--show-secrets", is_flag=True, help="Write passwords, tokens and other secrets as well.")
@definitions_option
@memory_option
@click.option("--verbose", is_flag=True, help=HELP["verbose"])
def command(captures: tuple[str, ...], out: str, **options: Any) -> int:
    """Decode large capture archives into tables with Spark.

    CAPTURES are files, folders, globs and URLs (s3://, gs://, hdfs://). Files that tcpdump or dumpcap rotated are
    decoded as one capture. The Parquet tables replace those in DIR atomically, or are added to them with --append.
    Spark runs on this machine, or on any cluster.

    \b
    kdbg pipeline captures/ --out tables
    kdbg pipeline 's3://archive/2026-11-*.pcap' --out s3://lake/kafka --master spark://host:7077
    kdbg pipeline /var/captures --follow --out tables
    """
    if options.pop("follow"):
        if options["diagnose"]:
            raise click.UsageError(
                "--diagnose cannot be combined with --follow; use kdbg watch --diagnose for live traffic"
            )
        from .follow_run import run
    else:
        from .pipeline_run import run

    definitions = click.get_current_context().meta.get(GIVEN, ())
    return run(captures, out, take_archive_filters(options), options | {"definitions": definitions})
