"""The options and arguments that several commands share, with the types of their values.

Among them are those that say how keys and values of records are read: by which reader, with which schemas.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ...budget import DEFAULT, LEAST, MEMORY, VARIABLE, size_of
from ...errors import InputError
from ...views.render.views import VIEWS, View
from . import DEFINITIONS, NO_INDEX, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ...live.bounded_pipe import Rotation
    from ...payloads.values.chosen import ReadBytes


Command = Callable[..., Any]
F = TypeVar("F", bound=Command)
HELP: Final = {
    "color": "Colour the output; auto follows the terminal and NO_COLOR (default: auto).",
    "conf": "Set a Spark property, or spark.hadoop.fs.s3a.* for S3. Repeatable.",
    "config": "Read brokers, TLS and SASL settings from a Java client.properties file.",
    "explain-fields": "Describe each field: next to it in a tree, below a hexdump.",
    "full": "Show long arrays and values in full (always so in a pipe).",
    "hide-values": "Show only the sizes of record keys, values and headers.",
    "light": "Use the light theme (press d to switch).",
    "only-named": "Connect only to hosts given by --broker.",
    "show-secrets": "Show passwords, tokens and other secrets.",
    "timeout": "Limit each connection attempt, and each response after the wait that its request allows (default: 10).",
    "verbose": "Print Spark's log output.",
    "write": "Save the traffic as a plaintext capture, including passwords.",
}
"""The help of options that several commands have."""
SMALLEST_FILE = 1 << 16
"""Bytes of a file that may be asked for, at least: some packets fit in."""


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, `least` at least: 100MB, 64KiB, 5000. Units are powers of two."""

    name = "size"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else size_of(value, self.least)
        except InputError as error:
            self.fail(str(error), param, ctx)


def rotation(text: str) -> Rotation:
    """Parse the size of files, and how many are kept: 100MB*10."""
    from ...live.bounded_pipe import Rotation

    size, _, files = text.partition("*")
    if not files.strip().isdigit() or not int(files):
        raise click.BadParameter(f"not SIZE*N: {text!r}; use SIZE*N, such as 100MB*10")
    return Rotation(Size(SMALLEST_FILE).convert(size, None, None), int(files))


def process_count(text: str) -> int:
    """Parse how many processes to use; 0 is auto."""
    if text != "auto" and not (text.isdecimal() and int(text)):
        raise click.BadParameter(f"invalid number of processes {text!r}; use a number such as 4, or auto")
    return int(text) if text != "auto" else 0


def setting(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"invalid property {text!r}; use NAME=VALUE, such as spark.executor.memory=4g")
    return name, value


def _take_conf(
    context: click.Context, option: click.Parameter, given: tuple[tuple[str, str], ...]
) -> list[tuple[str, str]]:
    """Keep the properties of S3 for kdbg's access to it, until the command ends; return those for Spark."""
    if not given:
        return []
    from ...scale.spark.archive.s3 import use_properties

    context.call_on_close(lambda: use_properties(()))
    return use_properties(given)


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Make what gives a command several options, in this order."""

    def give(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return give


def files_argument(metavar: str = "FILE…", *, required: bool = True) -> Callable[[Command], Command]:
    """Make the argument of one or more files; - is the standard input."""
    return click.argument("files", nargs=-1, required=required, metavar=metavar, type=click.Path(allow_dash=True))


def choice_option(*formats: str, help: str = "Set the output format.") -> Callable[[Command], Command]:
    """Make --format of these formats; the first is the default."""
    return click.option("--format", "-f", "format", type=click.Choice(formats), default=formats[0],
                        help=f"{help.removesuffix('.')} (default: {formats[0]}).")  # fmt: skip


def text_or_json(rows: str) -> Callable[[Command], Command]:
    """Make --format of text and json; `rows` says what an object of JSON is."""
    return choice_option("text", "json", help=f"Set the output format: text, or json with one object {rows}.")


def view_option(default: str, wanted: Callable[[View], bool] = lambda view: True) -> Callable[[Command], Command]:
    """Make --format of the views that are wanted."""
    views = [name for name, view in VIEWS.items() if wanted(view)]
    return click.option("--format", "-f", "format", type=click.Choice(views), default=default,
                        help=f"Set the output format (default: {default}).")  # fmt: skip


color_option: Final = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help=HELP["color"]
)
format_option: Final = choice_option("text", "json", help="Set the output format: text, or JSON Lines.")
look_options: Final = all_of(
    color_option,
    click.option("--full", is_flag=True, help=HELP["full"]),
    click.option("--show-secrets", is_flag=True, help=HELP["show-secrets"]),
)
values_option: Final = click.option("--hide-values", is_flag=True, help=HELP["hide-values"])
meanings_option: Final = click.option("--explain-fields", "meanings", is_flag=True, help=HELP["explain-fields"])
value_look_options: Final = all_of(look_options, values_option)
message_look_options: Final = all_of(value_look_options, meanings_option)
raw_option: Final = click.option(
    "--raw", is_flag=True, help="Leave text unescaped in CSV, also where a spreadsheet would treat it as a formula."
)
merge_option: Final = click.option(
    "--merge/--no-merge",
    default=None,
    help="Merge captures of the same traffic from several hosts (default: if detected); see kdbg guide merge.",
)
latency_option: Final = click.option(
    "--latency",
    is_flag=True,
    help="Break down latency (network, broker, throttling) and show TCP statistics; see kdbg guide latency.",
)
jobs_option: Final = click.option(
    "--jobs", "-j", type=process_count, default="auto", metavar="N",
    help="Use N processes (default: auto, which is all cores for captures of 100 MB or more); the output is the same.",
)  # fmt: skip
conf_option: Final = click.option(
    "--conf", multiple=True, type=setting, metavar="K=V", callback=_take_conf, help=HELP["conf"]
)
write_option: Final = click.option("--write", metavar="FILE.pcap", help=HELP["write"])
listen_options: Final = all_of(
    click.option("--listen", "-l", default="127.0.0.1:19092", metavar="HOST:PORT",
                 help="Listen here for the first broker, further brokers on the next ports; port 0: "
                      "any free ports (default: 127.0.0.1:19092)."),
    click.option("--advertise", metavar="HOST", help="Advertise this host name to clients instead of the --listen "
                                                     "host."),
)  # fmt: skip
certificate_option: Final = click.option(
    "--listen-cert", metavar="PEM", help="Serve TLS with this certificate (and key)."
)
certificate_key_option: Final = click.option(
    "--listen-key", metavar="PEM", help="Read the private key from this file, if it is not in the certificate file."
)
screen_options: Final = all_of(
    click.option("--tui", is_flag=True, help="Browse the traffic interactively, as with kdbg browse."),
    click.option("--light", is_flag=True, help=HELP["light"]),
)
TREE_OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("--depth", {"type": click.IntRange(min=1), "metavar": "N", "help": "Limit trees to N levels."}),
    ("--only-errors",
     {"is_flag": True, "help": "Show only the fields with errors of each exchange, with their paths."}),
    ("--local", {"is_flag": True, "help": "Show local time instead of UTC (JSON and field values stay in UTC)."}),
    ("--no-pager", {"is_flag": True, "help": "Print long output without a pager."}),
)  # fmt: skip
"""The options of trees, times and the pager, with what click says of each: see `output.take_look`."""


def tree_options(*without: str) -> Callable[[Command], Command]:
    """Make what gives a command TREE_OPTIONS, but for those named."""
    return all_of(*(click.option(name, **about) for name, about in TREE_OPTIONS if name not in without))


memory_option: Final = click.option(
    "--max-memory", type=Size(LEAST), default=DEFAULT, metavar="SIZE", envvar=VARIABLE, expose_value=False,
    callback=lambda _context, _option, value: MEMORY.allow(value),
    help="Limit the memory; data above the limit is dropped with a finding (default: 1GB).",
)  # fmt: skip


def _serve_definitions(context: click.Context, option: click.Parameter, paths: tuple[str, ...]) -> None:
    """Read the definitions before anything asks for an API; they are forgotten when the command ends."""
    if not paths:
        return
    context.meta[DEFINITIONS] = paths
    from ...library import using_definitions

    quiet = context.resilient_parsing  # a shell is asking what could come next
    for note in context.with_resource(using_definitions(*paths)):
        if not quiet:
            click.echo(f"kdbg: {printable(note)}", err=True)


definitions_option: Final = click.option(
    "--definitions", multiple=True, metavar="DIR|FILE", type=click.Path(), envvar="KDBG_DEFINITIONS",
    expose_value=False, is_eager=True, callback=_serve_definitions,
    help="Load Kafka JSON message definitions, in addition to the built-in ones (default: $KDBG_DEFINITIONS). "
         "Repeatable.",
)  # fmt: skip
"""Message definitions served beside kdbg's own grammars, as long as a command runs."""
index_option: Final = click.option(
    "--no-index",
    is_flag=True,
    envvar="KDBG_NO_INDEX",
    expose_value=False,
    callback=lambda context, _option, value: context.meta.update({NO_INDEX: value}),
    help="Neither use nor write an index of large captures: kdbg guide index.",
)
input_options: Final = all_of(definitions_option, memory_option)
"""Of all commands that read what others made."""


def need_screen(command: str, hint: str = "omit --tui for pipes and files") -> None:
    """Raise `InputError` where no screen can be shown for a command."""
    from ...extras import require

    require(command, "tui", "textual")
    if not (sys.stdout.isatty() and sys.stdin is not None):
        raise InputError(f"{command} needs a terminal; {hint}")


READ_IN = ("tree", "hex")
"""The views that show keys and values as readers read them."""
NAMES = ("value", "key_as", "schema", "registry", "registry_config")


def _complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[str]]:
    """Offer the names of readers."""
    from .completion import value_readers  # which only shells ask for

    return value_readers(context, parameter, typed)


reader_options: Final = all_of(
    click.option("--value", "--value-as", "value", multiple=True, metavar="[TOPIC=]READER",
                 shell_complete=_complete, help="Deserialize values: string, json, hex, base64, msgpack, "
                                                    "avro, protobuf[:MESSAGE], json-schema, int64 and more."),
    click.option("--key-as", multiple=True, metavar="[TOPIC=]READER", shell_complete=_complete,
                 help="Deserialize keys; the formats are those of --value."),
    click.option("--schema", multiple=True, metavar="[TOPIC=]FILE[:MESSAGE]",
                 help="Use this schema for a topic's values, with TOPIC-key for its keys: .avsc, .proto, .desc "
                      "or .json."),
    click.option("--registry", metavar="URL|DIR", help="Read schemas from a Schema Registry, or from a folder "
                                                       "with saved registry responses."),
    click.option("--registry-config", metavar="FILE", help="Read Schema Registry client properties, such as "
                                                           "basic.auth.user.info, from this file."),
)  # fmt: skip


def take_readers(options: dict[str, Any]) -> ReadBytes | None:
    """Take the readers out of what a command was given, None for none; raise `InputError` for one that cannot be."""
    given = {name: options.pop(name) for name in NAMES}
    if not any(given.values()):
        return None
    from ...live.client.deserializers import readers_of

    return readers_of(given)


def take_view_readers(options: dict[str, Any], format: str, others: str = "") -> ReadBytes | None:
    """Take them for a view; raise `UsageError`, which names `others` too, where it does not show keys and values."""
    read = take_readers(options)
    if read is not None and format not in READ_IN:
        raise click.UsageError(
            f"values cannot be deserialized with --format {format}; use {others}--format tree or hex"
        )
    return read
