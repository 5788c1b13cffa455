"""`kdbg completion`: the script that makes a shell complete kdbg's command lines, and what it offers.

The values of arguments and options come from completers, as click's `shell_complete` wants: each takes (context,
parameter, what is typed so far) and returns what may stand there. None of them raises, prints or takes long; what a
capture says is offered only where no shell would read more into it than a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from .. import guide
from . import COMPLETE, DEFINITIONS, PROGRAM

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ...exchanges.messages.exchange import Exchange
    from ...protocol.wire import Api
    from ...protocol.wire.language.payload import Payload

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]"
Found: TypeAlias = Iterable[tuple[str, str | None]]
"""Values, each with a word on it or None."""
MOST_BYTES = 4 << 20
"""Bytes of a capture that are read to complete a word."""
MOST_EXCHANGES = 5000
SAFE = re.compile(r"[A-Za-z0-9._@%+,-]+")
"""What is offered, for shells insert it without quotes: more than Kafka allows in names of topics."""


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
    click.echo(kind(context.find_root().command, {}, PROGRAM, COMPLETE).source(), nl=False)


def completer(find: Callable[[click.Context, str], Found]) -> Completer:
    """Return a completer that offers what `find` yields; it offers what was found so far where `find` fails."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        found: list[CompletionItem[str]] = []
        definitions: AbstractContextManager[Any] = nullcontext()
        if paths := context.meta.get(DEFINITIONS, ()):
            from ...library import using_definitions

            definitions = using_definitions(*paths)
        try:
            with definitions:
                found += [CompletionItem(value, help=about) for value, about in find(context, typed)
                          if value.startswith(typed) and SAFE.fullmatch(value)]  # fmt: skip
        except Exception:
            return found
        return found

    return complete


@completer
def guide_topics(context: click.Context, typed: str) -> Found:
    """Return the topics of the manual."""
    return guide.topics().items()


@completer
def guide_sections(context: click.Context, typed: str) -> Found:
    """Return the headings of the topic that the command line names."""
    return [(text, None) for _, _, text in guide.headings(words(context, "topic")[0])]


@completer
def finding_kinds(context: click.Context, typed: str) -> Found:
    """Return the kinds of findings."""
    from ...protocol.findings import Kind

    return [(str(kind), kind.explanation) for kind in Kind]


@completer
def api_names(context: click.Context, typed: str) -> Found:
    """Yield the APIs: with dashes, or in CamelCase after a capital letter, or by key after a digit; then aliases."""
    from ...protocol import grammars

    for api in grammars.apis():
        if typed[:1].isdecimal():
            yield str(api.key), api.name
        else:
            yield (api.name if typed[:1].isupper() else dashed(api.name)), f"key {api.key}"
    for api in grammars.apis() if typed else ():
        for alias in grammars.aliases(api):
            yield (alias if typed[:1].isupper() else dashed(alias)), f"former name of {api.name}"


@completer
def grammar_names(context: click.Context, typed: str) -> Found:
    """Yield what `kdbg grammar` can be asked for: special pages, then APIs, then payloads."""
    from ...protocol.grammars.payloads import payloads

    yield from ((word, None) for word in ("frame", "header", "records", "payloads", "types", "notation"))
    yield from [(item.value, item.help) for item in api_names(context, click.Argument(["api"]), typed)]
    for payload in payloads() if typed else ():
        yield (payload.name if typed[:1].isupper() else dashed(payload.name)), "payload"


@completer
def api_versions(context: click.Context, typed: str) -> Found:
    """Return the versions of the API or payload that the command line names, the highest first."""
    (name, *_) = words(context, "api", "names")
    return [(str(version), None) for version in reversed(api_or_payload(name).versions)]


def api_or_payload(name: str) -> Api | Payload:
    """Return the API or payload of this name. Raise `UnknownApi`, with APIs of similar names, where there is none."""
    from ...errors import UnknownApi
    from ...protocol import grammars
    from ...protocol.grammars.payloads import known

    try:
        return grammars.api(name)
    except UnknownApi:
        found = known(name)
        if found is None:
            raise
        return found


@completer
def error_codes(context: click.Context, typed: str) -> Found:
    """Yield the error codes as numbers after a digit or a dash, else by name."""
    from ...protocol.grammars.errors import ERRORS

    by_code = typed[:1].isdecimal() or typed[:1] == "-"
    for code, error in ERRORS.items():
        yield (str(code), error.name) if by_code else (error.name, str(code))


@completer
def dimension_names(context: click.Context, typed: str) -> Found:
    """Return what statistics can be grouped by; after a comma, what is not there yet."""
    from ...analysis.stats.dimensions import DIMENSIONS

    *before, _ = typed.split(",")
    front = "".join(f"{name}," for name in before)
    return [(f"{front}{name}", one.help) for name, one in DIMENSIONS.items() if name not in before]


@completer
def sort_names(context: click.Context, typed: str) -> Found:
    """Return what rows of statistics can be sorted by: the dimensions that were chosen, and measures."""
    from ...analysis.stats.dimensions import DIMENSIONS
    from ...analysis.stats.measures import MEASURES

    chosen = context.params.get("by") or ()
    found = [(name, DIMENSIONS[name].help) for name in chosen if name in DIMENSIONS]
    return [*found, *((name, one.help) for name, one in MEASURES.items() if name != "error_names")]


@completer
def value_readers(context: click.Context, typed: str) -> Found:
    """Return the readers of keys and values."""
    from ...payloads.values.readers import READERS

    return [(name, reader.about) for name, reader in READERS.items()]


def capture_values(values: Callable[[Exchange], Iterable[Any]]) -> Completer:
    """Return a completer of what the captures on the command line hold, in the order of its appearance.

    Only their beginnings are read; pipes and folders are left out, and so is what looks like an option.
    """

    @completer
    def complete(context: click.Context, typed: str) -> Found:
        from io import BytesIO
        from itertools import islice
        from pathlib import Path

        from ...library import read_capture

        found: dict[str, None] = {}
        for file in map(Path, words(context, "files", "sources", "captures")):
            if not file.is_file():
                continue
            with file.open("rb") as opened:
                beginning = BytesIO(opened.read(MOST_BYTES))
            try:
                for exchange in islice(read_capture(beginning), MOST_EXCHANGES):
                    texts = [one for one in values(exchange) if isinstance(one, str) and not one.startswith("-")]
                    found.update(dict.fromkeys(texts))
            except Exception:  # cut off where reading ended, or no capture: what was found before is good
                continue
        return [(value, None) for value in found]

    return complete


FILTER_VALUES: dict[str, Completer] = {
    "api": api_names,
    "client_id": capture_values(lambda exchange: [exchange.client_id]),
    "topic": capture_values(lambda exchange: (topic for rows, _, _ in exchange.outlines() for topic, *_ in rows)),
    "group": capture_values(lambda exchange: (group for _, groups, _ in exchange.outlines() for group in groups)),
    "connection": capture_values(lambda exchange: [str(exchange.peers.number)]),
}
"""What completes the values of filters, by the filters' names; a filter that is not here completes nothing."""


def words(context: click.Context, *names: str) -> list[str]:
    """Return what was given for the first of these arguments or options that was given.

    While an option's value is missing, click leaves all arguments in `context.args`.
    """
    given: Any = next((context.params[name] for name in names if context.params.get(name)), ())
    return context.args or ([given] if isinstance(given, str) else list(given))


def dashed(name: str) -> str:
    """Return a name as command lines have it: ApiVersions is api-versions."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
