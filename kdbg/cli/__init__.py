"""The command line: one module per command. The only room that prints, asks and exits.

Commands are imported when they are called, and what they need when they run, so that `kdbg --help` stays instant.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from .. import __version__
from ..errors import KdbgError

COMMANDS = {
    "decode": "Show what was said in captures of Kafka traffic.",
    "explain": "Explain bytes given as hex, base64, a hexdump or a file.",
    "encode": "Turn JSON into the bytes of a message.",
    "grammar": "Print the grammar of a message, or what versions changed.",
    "errors": "Look up error codes.",
    "apis": "List API keys, versions and aliases.",
}
INTERRUPTED, REFUSED = 130, 2


class Commands(click.Group):
    """Knows the commands by name, and imports one only when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with a word on what was probably meant."""
        import difflib

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " `kdbg --help` lists the commands."
            raise click.UsageError(f"No command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="kdbg %(version)s")
def commands() -> None:
    """A protocol debugger for Apache Kafka: what really went over the wire, decoded, paired and explained."""


def main() -> None:
    """Run the command line; the one place where errors become messages and exit codes."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit status of a command: 0 done, 1 something could not be decoded, 2 refused, 130 on Ctrl-C."""
    try:
        status = commands.main(arguments, prog_name="kdbg", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code if isinstance(error, click.UsageError) else REFUSED
    except KdbgError as error:
        click.echo(f"kdbg: {error}", err=True)
        return REFUSED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: end quietly
        return 0
