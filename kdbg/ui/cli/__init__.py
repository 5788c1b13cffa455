"""The command line: one module per command, but for SHARED ones. The only room that prints, asks and exits.

Commands are imported when they are called, and what they need when they run, so that `kdbg --help` stays instant.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import click

from ... import __version__
from ...collector import seldom_collected

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ...errors import KdbgError

GROUPS = {
    "Captures": {
        "decode": "Decode captures of Kafka traffic into requests and responses.",
        "browse": "Browse captures interactively: exchanges, fields, bytes.",
        "records": "Print produced and fetched records.",
        "stats": "Summarize traffic, latency and errors by client, API or topic.",
        "diff": "Compare two exchanges, or two captures.",
        "index": "Index large captures for decode to read only matches.",
        "export": "Export selected connections or exchanges to a capture file.",
        "redact": "Redact a capture for sharing: remove names and data.",
    },
    "Causes": {
        "diagnose": "Find root causes of failures, with evidence and fixes.",
        "story": "Print the timeline of a group, producer, topic or client.",
        "lint": "Report protocol violations and bad practices.",
        "readiness": "List clients that a broker upgrade would break.",
    },
    "Live traffic": {
        "watch": "Capture and decode live traffic on an interface.",
        "proxy": "Proxy between clients and a cluster; can inject faults.",
        "send": "Send one request to a broker and print both messages.",
        "replay": "Replay captured requests and compare the responses.",
        "mock": "Mock brokers: serve recorded responses to clients.",
        "tls-keys": "Show how each client logs its TLS keys.",
    },
    "Bytes and the protocol": {
        "explain": "Identify and annotate bytes: hex, base64, hexdump, file.",
        "encode": "Encode JSON into a Kafka message.",
        "grammar": "Print a message schema, or compare two versions.",
        "errors": "Look up error codes.",
        "apis": "List API keys, versions and aliases.",
        "coverage": "List supported API versions and how each was verified.",
        "wireshark": "Write or install a Wireshark dissector of every API version.",
    },
    "Archives and reports": {
        "pipeline": "Decode large capture archives into tables with Spark.",
        "tables": "Compact, vacuum, list and convert Delta tables.",
        "query": "Query captures or tables with SQL or built-in queries.",
        "report": "Create an HTML report from captures or pipeline tables.",
    },
    "Help": {
        "guide": "Read the guide: tasks, commands, reference.",
        "completion": "Print a shell completion script.",
    },
}
"""The commands with their one-line help, by the headings of `kdbg --help`."""
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
SHARED = {
    **dict.fromkeys(("diagnose", "lint", "readiness", "story"), "diagnosis"),
    **dict.fromkeys(("apis", "coverage", "errors"), "reference"),
    **dict.fromkeys(("export", "redact"), "export"),
    **dict.fromkeys(("replay", "mock"), "replay"),
}
"""Modules that hold several commands, each as NAME_command."""
PROGRAM, COMPLETE = "kdbg", "_KDBG_COMPLETE"
"""The program, and the environment variable by which a shell asks it what to offer."""
DEFINITIONS = "kdbg.definitions"
"""Where a click context keeps the paths of --definitions, for a command whose work other processes do."""
NO_INDEX = "kdbg.no-index"
"""Where a click context keeps --no-index, for commands that have it."""
UNDECODED, REFUSED, INTERRUPTED = 1, 2, 130
"""Exit statuses: something could not be decoded; wrong usage or unreadable input; Ctrl-C."""


class Modules(Mapping[str, click.Command]):
    """Maps a command's name to the command; imports its module when it is asked for. Man pages are made of it."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        module = import_module(f".{SHARED.get(name, name).replace('-', '_')}", __name__)
        command: click.Command = getattr(module, f"{name}_command" if name in SHARED else "command")
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Commands(click.Group):
    """Knows the commands by name, and imports one only when it is wanted."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        return list(COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer the commands, without importing them, and after a dash the options."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=about) for name, about in COMMANDS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, about in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command as click does; where there is none, raise `UsageError` with the nearest name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"unknown command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, commands=Modules(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="kdbg %(version)s")
def commands() -> None:
    """Debug the Kafka protocol: decode captured or live traffic, and find the causes of failures."""


def main() -> None:
    """Run the command line and exit with its status; answer a shell that asks for completions."""
    if sys.stdout is None:  # closed by whoever called
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if asked := os.environ.get(COMPLETE):  # by the script that `kdbg completion` prints
        from click.shell_completion import shell_complete

        status: int = shell_complete(commands, {}, PROGRAM, COMPLETE, asked)
    else:
        with seldom_collected():
            status = run(sys.argv[1:])
    if "duckdb" not in sys.modules:  # which complains of objects that are still there
        gc.freeze()  # else Python looks through all objects before it ends, which takes 20 to 50 ms
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run a command, print an error as a message; return 0 done, 1 not decoded, 2 refused, 130 on Ctrl-C."""
    try:
        with commands.make_context("kdbg", arguments or ["--help"]) as context:  # `main` would exit on a closed pipe
            status = commands.invoke(context)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        called = error.ctx.command_path if error.ctx is not None else "kdbg"
        problem = " ".join(error.format_message().rstrip(".").split())  # click lists choices in lines of their own
        if problem[1:2].islower():  # kdbg's errors begin in lower case, but for names such as CSV
            problem = problem[:1].lower() + problem[1:]
        return refuse(f"{problem} ({called} --help)")
    except click.ClickException as error:
        return refuse(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except kdbg_error() as error:
        return refuse(str(error))
    except BrokenPipeError:
        drop_output()
        return 0
    except OSError as error:
        drop_output()
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))


def kdbg_error() -> type[KdbgError]:
    """Return the class of kdbg's own errors; they are imported once something has gone wrong."""
    from ...errors import KdbgError

    return KdbgError


def refuse(problem: str) -> int:
    """Print in a line why a command is refused, with what is not printable escaped; return the exit status 2."""
    click.echo(f"kdbg: {printable(problem)}", err=True)
    return REFUSED


def printable(text: str) -> str:
    """Return the text with characters that are not printable as escapes, so that it is safe on a terminal."""
    return "".join([letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text])


def drop_output() -> None:
    """Let the rest of the output, which nobody reads any more, go to the null device instead of a closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
