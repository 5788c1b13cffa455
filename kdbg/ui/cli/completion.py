"""`kdbg completion`: the script that makes a shell complete kdbg's command lines."""

from __future__ import annotations

import click

VARIABLE = "_KDBG_COMPLETE"
"""The environment variable by which the script asks kdbg what to offer."""
PROGRAM = "kdbg"


@click.command(context_settings={"max_content_width": 100})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a shell completion script.

    The script completes commands, options, APIs and their versions, error codes, and topics of the guide. After the
    name of a capture it also completes the topics, groups, client ids and connections in the capture. Load it when
    the shell starts:

    \b
    kdbg completion bash > ~/.local/share/bash-completion/completions/kdbg
    kdbg completion zsh > ~/.zfunc/_kdbg          # a folder of $fpath
    kdbg completion fish > ~/.config/fish/completions/kdbg.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source(), nl=False)


def answer(commands: click.Group, instruction: str) -> int:
    """Say what may stand where the cursor is, as the script asks; return the exit status."""
    from click.shell_completion import shell_complete

    return shell_complete(commands, {}, PROGRAM, VARIABLE, instruction)
