"""The rules, in files by what they are about. A rule that is put into one of them is in use."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..case import Rule

MODULES = tuple(import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted(
        (rule for module in MODULES for name, rule in vars(module).items()
         if isinstance(rule, Rule) and not name.startswith("_")),
        key=lambda rule: rule.code,
    )
}  # fmt: skip
"""All rules, by their codes; those with an underscore have other words for the cause of another rule."""
