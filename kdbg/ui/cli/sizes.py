"""Sizes on the command line: 100MB, 64KiB, 5000. Units are powers of two, as `budget.size_of` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...budget import size_of
from ...errors import InputError

if TYPE_CHECKING:
    from ...live.files import Rotation

LEAST = 1 << 16
"""Bytes of a file that may be asked for, at least: some packets fit in."""


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, `least` at least."""

    name = "size"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else size_of(value, self.least)
        except InputError as error:
            self.fail(str(error), param, ctx)


class Rolling(click.ParamType):  # type: ignore[type-arg]
    """The size of files, and how many are kept: 100MB*10."""

    name = "rotation"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rotation:
        from ...live.files import Rotation

        if isinstance(value, Rotation):
            return value
        size, _, files = value.partition("*")
        if not files.strip().isdigit() or not int(files):
            self.fail(f"not SIZE*N: {value!r}; use SIZE*N, such as 100MB*10", param, ctx)
        return Rotation(Size(LEAST).convert(size, param, ctx), int(files))
