"""Exchanges and bytes in, text out: trees, explained hexdumps, summary lines, JSON lines. Prints nothing.

The room can be called as well: `kdbg.render(exchange, "hex")` is `kdbg.render.shown.render`. Python puts a package that
was imported where its parent had a function of the same name, so the package has to be that function too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> str:
        from .shown import render

        return render(*args, **options)


sys.modules[__name__].__class__ = _Room
