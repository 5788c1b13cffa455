"""The rules, one a file: each declares `rule`. A file that is put here is in use."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..case import Rule

NAMES: tuple[str, ...] = tuple(sorted(module.name for module in iter_modules(__path__)))
RULES: tuple[Rule, ...] = tuple(import_module(f"{__name__}.{name}").rule for name in NAMES)
"""All rules, by the names of their files."""
BY_CODE: dict[str, Rule] = {rule.code: rule for rule in RULES}
