"""`kdbg completion`: the script that makes a shell complete kdbg's command lines, and what it offers.

The values of arguments and options come from completers, as click's `shell_complete` wants: each takes (context,
parameter, what is typed so far) and returns what may stand there. None of them raises, prints or takes long; what a
capture says is offered only where no shell would read more into it than a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import click

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
        try:
            with defined(context):
                found += [CompletionItem(value, help=about) for value, about in find(context, typed)
                          if value.startswith(typed) and SAFE.fullmatch(value)]  # fmt: skip
        except Exception:
            return found
        return found

    return complete


def defined(context: click.Context) -> AbstractContextManager[Any]:
    """Return a context that serves the message definitions that the command line names."""
    paths = context.meta.get(DEFINITIONS, ())
    if not paths:
        return nullcontext()
    from ...library import using_definitions

    return using_definitions(*paths)


@completer
def guide_topics(context: click.Context, typed: str) -> Found:
    """Return the topics of the manual."""
    from ..guide import topics

    return topics().items()


@completer
def guide_sections(context: click.Context, typed: str) -> Found:
    """Return the headings of the topic that the command line names."""
    from ..guide import headings

    return [(text, None) for _, _, text in headings(words(context, "topic")[0])]


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
    """Return what statistics can be told apart by; behind a comma, what is not there yet."""
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
def capture_topics(context: click.Context, typed: str) -> Found:
    """Return the topics that the captures name."""
    return captured(context, lambda exchange: (topic for rows, _, _ in exchange.outlines() for topic, *_ in rows))


@completer
def capture_groups(context: click.Context, typed: str) -> Found:
    """Return the consumer groups that the captures name."""
    return captured(context, lambda exchange: (group for _, groups, _ in exchange.outlines() for group in groups))


@completer
def capture_clients(context: click.Context, typed: str) -> Found:
    """Return the client ids in the captures."""
    return captured(context, lambda exchange: [exchange.client_id])


@completer
def capture_connections(context: click.Context, typed: str) -> Found:
    """Return the numbers of the connections in the captures."""
    return captured(context, lambda exchange: [str(exchange.peers.number)])


@completer
def value_readers(context: click.Context, typed: str) -> Found:
    """Return the readers of keys and values."""
    from ...payloads.values.readers import READERS

    return [(name, reader.about) for name, reader in READERS.items()]


FILTER_VALUES: dict[str, Completer] = {
    "api": api_names,
    "client_id": capture_clients,
    "topic": capture_topics,
    "group": capture_groups,
    "connection": capture_connections,
}
"""What completes the values of filters, by the filters' names; a filter that is not here completes nothing."""


def captured(context: click.Context, values: Callable[[Exchange], Iterable[Any]]) -> Found:
    """Return what the captures that the command line names hold, in the order of their appearance."""
    found: dict[str, None] = {}
    for file in files_given(context):
        try:
            for exchange in first_exchanges(file):
                found.update(dict.fromkeys(filter(is_value, values(exchange))))
        except Exception:  # cut off where reading ended, or no capture: what was found before is good
            continue
    return [(value, None) for value in found]


def files_given(context: click.Context) -> list[str]:
    """Return the files that stand on the command line; pipes and folders are none."""
    from pathlib import Path

    return [name for name in words(context, "files", "sources", "captures") if Path(name).is_file()]


def words(context: click.Context, *names: str) -> list[str]:
    """Return what was given for the first of these arguments or options that was given.

    While an option's value is missing, click leaves all arguments in `context.args`.
    """
    given: Any = next((context.params[name] for name in names if context.params.get(name)), ())
    return context.args or ([given] if isinstance(given, str) else list(given))


def first_exchanges(file: str) -> Iterator[Exchange]:
    """Yield the exchanges of a capture's beginning."""
    from io import BytesIO
    from itertools import islice

    from ...library import read_capture

    with open(file, "rb") as opened:  # noqa: PTH123
        beginning = BytesIO(opened.read(MOST_BYTES))
    yield from islice(read_capture(beginning), MOST_EXCHANGES)


def is_value(word: Any) -> bool:
    """Return whether captured text can be offered as a value: what looks like an option cannot."""
    return isinstance(word, str) and not word.startswith("-")


def dashed(name: str) -> str:
    """Return a name as command lines have it: ApiVersions is api-versions."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
