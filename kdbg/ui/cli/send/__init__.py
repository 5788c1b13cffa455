"""`kdbg send`: one request to a real broker, and its answer.

Its options depend on the API that it is given; its help has sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from ..completion import api_names
from ..options import input_options
from .options import (
    Grouped,
    SendOptions,
    broker_options,
    output_options,
    request_options,
    round_options,
    security_options,
)

if TYPE_CHECKING:
    from .request import Request

OWN, NAMED = "kdbg.send.options", "kdbg.send.api"
"""Where in the context the options of the API stand, and its name."""


class SendCommand(click.Command):
    """Has, beside its own options, those of the API that stands on the command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from ....errors import UnknownApi
        from ....protocol import grammars
        from .api_options import own_options

        word = next(self.words_of(ctx, args), None)
        with suppress(UnknownApi):  # the command will refuse it
            if word is not None:
                name = grammars.api(word).name
                ctx.meta[NAMED], ctx.meta[OWN] = name, own_options(name, Grouped)
                for option in ctx.meta[OWN]:
                    option.group = f"Options of {name}"
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the API's own options, then the general ones; `--key` of Produce is the records' key."""
        own: list[click.Option] = ctx.meta.get(OWN, [])
        taken = {spelling for option in own for spelling in option.opts}
        found: list[click.Parameter] = [*own]
        for param in super().get_params(ctx):
            if isinstance(param, Grouped) and taken & set(param.opts):
                param = copy(param)
                param.opts = [spelling for spelling in param.opts if spelling not in taken]
            found.append(param)
        return found

    def words_of(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        """Yield the words that are neither options nor the values of any API's options."""
        from ....live.client.forms import FORMS
        from .api_options import own_options

        own = (option for api in FORMS for option in own_options(api, click.Option))
        takes_value = {
            spelling
            for option in (*super().get_params(ctx), *own)
            if isinstance(option, click.Option) and not option.is_flag and not option.count
            for spelling in option.opts
        }
        rest = iter(args)
        for word in rest:
            if word == "--":
                yield from rest
            elif word == "-" or not word.startswith("-"):
                yield word
            elif word in takes_value:
                next(rest, None)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ....live.client.forms import FORMS

        if NAMED not in ctx.meta:
            with formatter.section("APIs with their own options (kdbg send API --help)"):
                formatter.write_text(", ".join(FORMS))
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for group, members in groupby(options, key=lambda option: getattr(option, "group", "Options")):
            rows = [row for option in members if (row := option.get_help_record(ctx)) is not None]
            with formatter.section(group):
                formatter.write_dl(rows)


@click.command(cls=SendCommand, context_settings={"max_content_width": 100})
@click.argument("api", required=False, shell_complete=api_names)
@request_options
@broker_options
@output_options
@round_options
@security_options
@input_options
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
    check(api, options)
    if api is not None and options.show_template:
        import orjson

        from ....live.client.bodies import template
        from ....protocol import grammars
        from ..output import write_out

        known = grammars.api(api)
        body = template(known, options.version if options.version is not None else known.versions[-1])
        write_out([orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)])
        return 0
    from .session import once, raw, session

    if options.raw is not None:
        return session(options, raw(options.raw))
    wanted = request_for(api, options, said)
    if options.all_versions or options.repeat is not None:
        from .rounds import Repeat, Sweep

        sweep = options.repeat is None
        return session(options, Sweep(wanted) if sweep else Repeat(wanted, options.repeat, options.in_flight))
    return session(options, once(wanted))


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


def request_for(name: str | None, options: SendOptions, said: dict[str, Any]) -> Request:
    """Return the request that --from, --body or the API's own options describe."""
    from ....exchanges.messages.reshape import parse as parse_set
    from ....protocol import grammars
    from ..encode import text
    from ..reencode import parse
    from .request import captured, make_request, stood_in

    sets = [parse_set(one) for one in options.sets]
    if name is None:
        assert options.source is not None
        return captured(options.source, options.version, sets)
    given = parse(text(options.body), "--body") if options.body is not None else None
    api = grammars.api(name)
    if options.all_versions and given is None and not sets:
        said, made_up = stood_in(api, said)
        if made_up:
            click.echo(f"kdbg: {api.name} uses placeholders for missing options: {made_up}", err=True)
    return make_request(api, options.version, sets, said, given)
