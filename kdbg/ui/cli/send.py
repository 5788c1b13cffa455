"""`kdbg send`: one request to a real broker, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .completions import api_names
from .definitions import definitions_option
from .memory import memory_option
from .sending.command import OWN, SendCommand
from .sending.options import (
    SendOptions,
    broker_options,
    output_options,
    request_options,
    round_options,
    security_options,
)

if TYPE_CHECKING:
    from ...protocol.wire import Api
    from .sending.live import Rounds
    from .sending.request import Request


@click.command(cls=SendCommand, context_settings={"max_content_width": 100})
@click.argument("api", required=False, shell_complete=api_names)
@request_options
@broker_options
@output_options
@round_options
@security_options
@definitions_option
@memory_option
@click.pass_context
def command(ctx: click.Context, /, api: str | None, **general: Any) -> int:
    """Send one request to a broker and print both messages.

    The request goes to the leader or coordinator that is responsible for it. APIs are names, aliases or keys (`kdbg
    apis`). Common APIs have their own options, which `kdbg send API --help` shows; all APIs accept a body as JSON.
    The default version is the highest that both sides support.

    \b
    kdbg send metadata --broker mock: --topic orders
    kdbg send produce --broker localhost:9092 --topic orders --key 7 --value hello
    kdbg send fetch --broker localhost:9092 --topic orders --format hex
    kdbg send describe-configs --show-template
    kdbg send list-offsets --set 'topics[0]={"name": "orders", "partitions": [{"timestamp": -2}]}'
    kdbg send --raw 0000000a00120000000000010000 --broker localhost:9092

    Exit status: 0 a response, with or without an error code; 1 no response, or none that can be decoded completely; 2
    wrong usage.
    """
    own = {option.name: general.pop(option.name) for option in ctx.meta.get(OWN, ())}
    options = SendOptions(**general)
    said = {name: value for name, value in own.items() if value is not None and value != ()}
    return run(api, options, said)


def run(name: str | None, options: SendOptions, said: dict[str, Any]) -> int:
    """Do what the options ask for; return the exit status."""
    check(name, options)
    if name is not None and options.show_template:
        from ...protocol import grammars

        return show_template(grammars.api(name), options.version)
    from .sending.live import session

    return session(options, rounds(name, options, said))


def check(name: str | None, options: SendOptions) -> None:
    """Refuse options that exclude each other, and a command line with nothing to send."""
    whole = [word for word, said in (("--raw", options.raw), ("--from", options.source)) if said is not None]
    if name is None and not whole:
        raise click.UsageError("nothing to send; give an API (see kdbg apis), --raw or --from")
    if (name is not None and whole) or len(whole) > 1:
        raise click.UsageError(f"{whole[0]} is a complete request; it cannot be combined with an API or another source")
    if whole and (options.body is not None or options.show_template or (options.raw is not None and options.sets)):
        raise click.UsageError(f"{whole[0]} is a complete request; use --from and --set to change one")
    if options.repeat is not None and options.all_versions:
        raise click.UsageError("use either --repeat or --all-versions, not both")
    if options.raw is not None and (options.repeat is not None or options.all_versions or options.version is not None):
        raise click.UsageError("--raw cannot be combined with --repeat or --all-versions")
    if options.all_versions and options.version is not None:
        raise click.UsageError("use either --all-versions or --version, not both")


def rounds(name: str | None, options: SendOptions, said: dict[str, Any]) -> Rounds:
    """Return what to do in the session: send bytes, every version, many requests, or one request."""
    from .sending.live import once

    if options.raw is not None:
        from .sending.raw import Raw, given

        return Raw(given(options.raw))
    wanted = request(name, options, said)
    if options.all_versions:
        from .sending.sweep import Sweep

        return Sweep(wanted)
    if options.repeat is not None:
        from .sending.repeat import Repeat

        return Repeat(wanted, options.repeat, options.in_flight)
    return once(wanted)


def request(name: str | None, options: SendOptions, said: dict[str, Any]) -> Request:
    """Return the request that --from, --body or the API's own options describe."""
    from ...exchanges.messages.assign import parse as parse_set
    from ...protocol import grammars
    from .encode import text
    from .reencode import parse

    sets = [parse_set(one) for one in options.sets]
    if name is None:
        from .sending.captured import captured

        assert options.source is not None
        return captured(options.source, options.version, sets)
    from .sending import lookups

    given = parse(text(options.body), "--body") if options.body is not None else None
    api = grammars.api(name)
    if options.all_versions and given is None and not sets:
        said, made_up = lookups.stood_in(api, said)
        if made_up:
            click.echo(f"kdbg: {api.name} uses placeholders for missing options: {made_up}", err=True)
    return lookups.request(api, options.version, sets, said, given)


def show_template(api: Api, version: int | None) -> int:
    """Print a body to fill in; return the exit status."""
    import orjson

    from ...live.client.bodies import template
    from .output import Writer

    writer = Writer()
    body = template(api, version if version is not None else api.versions[-1])
    writer.write(orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    writer.flush()
    return 0
