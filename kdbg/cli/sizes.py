"""Sizes on the command line: 100MB, 64KiB, 5000."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..live.files import Rotation

UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
TEXT = re.compile(r"([0-9]+)\s*([kmg]i?|)b?", re.IGNORECASE)
LEAST = 1 << 16
"""Bytes of a file that may be asked for, at least: some packets fit in."""


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = TEXT.fullmatch(value.strip())
        if found is None:
            self.fail(f"{value!r} is no size, such as 100MB", param, ctx)
        return int(found[1]) * UNITS[found[2].lower()]


class Rolling(click.ParamType):  # type: ignore[type-arg]
    """The size of files, and how many are kept: 100MB*10."""

    name = "rotation"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rotation:
        from ..live.files import Rotation

        if isinstance(value, Rotation):
            return value
        size, _, files = value.partition("*")
        if not files.strip().isdigit() or not int(files):
            self.fail(f"{value!r} is no SIZE*N, such as 100MB*10", param, ctx)
        rotation = Rotation(Size().convert(size, param, ctx), int(files))
        if rotation.size < LEAST:
            self.fail(f"files of {size} hold too little: {LEAST:,} bytes at least", param, ctx)
        return rotation
