"""The shape of `kdbg send`: a command whose options depend on the API it is given, with a help in sections."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import click

OWN, NAMED = "kdbg.send.options", "kdbg.send.api"
"""Where in the context the options of the API stand, and its name."""


class Grouped(click.Option):
    """An option under a heading of its own in the help."""

    def __init__(self, *args: Any, group: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


class SendCommand(click.Command):
    """Has, beside its own options, those of the API that stands on the command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from .apioptions import own_options

        name = api_name(self.words_of(ctx, args))
        if name is not None:
            ctx.meta[NAMED], ctx.meta[OWN] = name, own_options(name, Grouped)
            for option in ctx.meta[OWN]:
                option.group = f"Options of {name}"
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the API's own options, then the general ones; an own option takes its spellings from a general one.

        So `--key` of Produce is the records' key.
        """
        own: list[click.Option] = ctx.meta.get(OWN, [])
        taken = {spelling for option in own for spelling in option.opts}
        return [*own, *(_without(param, taken) for param in super().get_params(ctx))]

    def words_of(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        """Yield the words that are neither options nor their values."""
        takes_value = set(_value_options(super().get_params(ctx)))
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


def api_name(words: Iterator[str]) -> str | None:
    """Return the API that the first word names; None without a word, and for a name that the command will refuse."""
    word = next(words, None)
    if word is None:
        return None
    from ....errors import UnknownApi
    from ....protocol import grammars

    try:
        return grammars.api(word).name
    except UnknownApi:
        return None


def _value_options(general: list[click.Parameter]) -> Iterator[str]:
    """Yield the spellings of all options, of any API, that take the next word as their value."""
    from ....live.client.forms import FORMS
    from .apioptions import own_options

    own = (option for api in FORMS for option in own_options(api, click.Option))
    for option in (*general, *own):
        if isinstance(option, click.Option) and not option.is_flag and not option.count:
            yield from option.opts


def _without(param: click.Parameter, taken: set[str]) -> click.Parameter:
    """Return the parameter without the spellings in `taken`."""
    if not isinstance(param, Grouped) or not taken & set(param.opts):
        return param
    from copy import copy

    left = copy(param)
    left.opts = [spelling for spelling in param.opts if spelling not in taken]
    return left
