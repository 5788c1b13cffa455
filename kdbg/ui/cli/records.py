"""`kdbg records`: captures in, the records in them out."""

from __future__ import annotations

import sys
from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import Writer, look, look_options, raw_option, values_option, without_values
from .readers import reader_options, take_readers


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option(
    "--format", "-f", "format", default="lines", metavar="FORMAT",
    help=r"Set the format: lines, json, csv, or a kcat format such as '%T %t/%p@%o %k %s %h\n' (default: lines).",
)  # fmt: skip
@click.option(
    "--key", "keys", multiple=True, metavar="K",
    help="Select records with this key, as displayed or as hex after 0x. Repeatable.",
)  # fmt: skip
@reader_options
@raw_option
@click.option("--count", is_flag=True, help="Print only the number of records.")
@filter_options
@look_options
@values_option
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, keys: tuple[str, ...], count: bool, raw: bool, color: str,
            full: bool, show_secrets: bool, hide_values: bool, **filters: Any) -> int:  # fmt: skip
    """Print produced and fetched records.

    Each record is one line: those produced, those fetched, and those in log segments. Filters select exchanges as in
    decode; --topic and --key select records, and --limit counts records. A record that was produced and then fetched
    is printed twice: each line shows which, and by which client.

    In a FORMAT, %s is the value, %S its size, %k the key, %K its size, %t topic, %p partition, %o offset, %T
    timestamp in milliseconds, %h headers; %w is produced, fetched or stored, %c the client id, %n the number of the
    exchange, %m control records, outcomes of transactions, and errors.

    --value avro, --value int64 and others deserialize values, as do the schemas of --schema or --registry.

    \b
    kdbg records captures/first-contact.pcap --topic orders
    kdbg records captures/transactions.pcap --format json
    kdbg records captures/first-contact.pcap -f '%t/%p@%o %k %s\\n'
    """
    from .recording import RecordsOptions, RecordsRun

    read = take_readers(filters)
    wanted = take_filters(filters)
    live = any(is_live(file) for file in files)
    style = without_values(look(color, full, show_secrets), hide_values)
    chosen = RecordsOptions(keys, count, raw)
    run = RecordsRun(format, style, Writer(live=live), wanted, chosen, read, watched=sys.stdout.isatty())
    run.captures(files)
    return run.status
