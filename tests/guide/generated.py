"""The parts of the manual that are generated: options, filters, columns, causes, lints, findings, metrics, extras."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import partial

import click

from kdbg.analysis.diagnosis.lint import ALL
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.exchanges.filters.table import FILTERS
from kdbg.exchanges.filters.where.vocabulary import TERMS
from kdbg.protocol.findings import OLD_NAMES, Kind
from kdbg.scale.signals.metrics import FAMILIES
from kdbg.ui.cli import commands
from kdbg.ui.guide import text
from kdbg.views.tables import columns

from .blocks import TOP

YES = {True: "yes", False: ""}


def tables() -> str:
    """Return a section for each table, with a row for each column."""
    parts = []
    for name, kinds in columns.TABLES.items():
        rows = [f"| `{column}` | {kind} | {columns.ABOUT[name][column]} |" for column, kind in kinds.items()]
        parts.append("\n".join([f"## {name}", "", "| column | type | what it is |", "| --- | --- | --- |", *rows, ""]))
        if name in columns.KEYS:
            parts.append(f"Key: {', '.join(f'`{column}`' for column in columns.KEYS[name])}\n")
    return "\n".join(parts)


def filters() -> str:
    """Return the table of filters."""
    rows = [
        f"| `{name}` | {one.form.name.lower()} | {one.help} | {YES[one.archives]} | {YES[one.pieces]} |"
        for name, one in FILTERS.items()
    ]
    return "\n".join(["| filter | value | chooses | archives | files |", "| --- | --- | --- | --- | --- |", *rows, ""])


def names() -> str:
    """Return the table of the names of expressions."""
    rows = [f"| `{name}` | {term.about} |" for name, term in TERMS.items()]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows, ""])


def families() -> str:
    """Return the table of metrics."""
    rows = [
        f"| `{one.full_name}` | {one.type.value} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |"
        for one in FAMILIES.values()
    ]
    return "\n".join(["| metric | type | labels | what it is |", "| --- | --- | --- | --- |", *rows, ""])


def causes() -> str:
    """Return the table of causes."""
    rows = [f"| `{rule.code}` | {rule.severity.value} | {rule.milestone} | {rule.title} |" for rule in RULES.values()]
    return "\n".join(["| code | severity | milestone | cause |", "| --- | --- | --- | --- |", *rows, ""])


def lints() -> str:
    """Return the table of what lint checks."""
    rows = [f"| `{lint.code}` | {lint.severity.value} | {lint.what} |" for lint in ALL]
    return "\n".join(["| code | severity | what it reports |", "| --- | --- | --- |", *rows, ""])


def kinds() -> str:
    """Return the table of kinds of findings."""
    rows = [f"| [`{kind}`](#{kind}) | {kind.severity.value} | {kind.explanation} |" for kind in Kind]
    return "\n".join(["| kind | severity | meaning |", "| --- | --- | --- |", *rows, ""])


def renames() -> str:
    """Return the table of renamed kinds of findings and codes of lints."""
    lints = {lint.old_code: lint.code for lint in ALL if lint.old_code is not None}
    names = sorted({**lints, **OLD_NAMES}.items())
    rows = [f"| `{old}` | `{new}` |" for old, new in names]
    return "\n".join(["| old name | new name |", "| --- | --- |", *rows, ""])


def extras() -> str:
    """Return the table of extras: what each enables, and its packages."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    about = project["tool"]["kdbg"]["extras"]
    rows = [
        f"| `{name}` | {about[name]} | {', '.join(re.split(r'[<>=[]', each)[0] for each in packages)} |"
        for name, packages in project["project"]["optional-dependencies"].items()
        if name != "all"
    ]
    return "\n".join(
        ["| extra | enables | packages |", "| --- | --- | --- |", *rows, f"| `all` | {about['all']} | |", ""]
    )


def options(name: str) -> str:
    """Return the table of a command's options, without filters and without those that many commands share."""
    command = commands.commands[name]
    rows = []
    with click.Context(command, info_name=name) as context:
        for option in command.params:
            record = option.get_help_record(context) if isinstance(option, click.Option) else None
            if record is not None and not described_elsewhere(option, name):
                term, about = (part.replace("|", "\\|").replace("[=all]", "") for part in record)
                rows.append(f"| `{term}` | {RANGE.sub('', about)} |")
    return "\n".join(["| option | what it does |", "| --- | --- |", *rows, ""])


def described_elsewhere(option: click.Parameter, command: str) -> bool:
    """Return whether an option is a filter, or one that another page describes for all commands."""
    known = FILTERS.get(option.name or "")
    if known is not None and getattr(option, "help", None) == known.help:
        return True
    owner = next((owner for owner, names in SHARED.items() if option.name in names), command)
    return owner != command


RANGE = re.compile(r"\s*\[[^]:]*[<>]=?[^]:]*\]$|;? [^][:;]*[<>]=?[^]:;]*(?=\]$)")
"""The bounds of a number, as click appends them."""
SHARED = {
    "": {"help", "color", "full", "show_secrets", "definitions", "max_memory", "hide_values", "local", "no_pager"},
    "send": {
        "tls", "ca", "cert", "cert_key", "server_name", "insecure", "tls_keys_out", "sasl_mechanism", "sasl_username",
        "sasl_password", "sasl_password_file", "sasl_token_file", "sasl_raw", "trust_advertised", "config",
    },
    "decode": {"explain_fields", "fail_on", "depth", "only_errors", "jobs", "merge", "no_index"},
    "records": {"value", "value_as", "key_as", "schema", "registry", "registry_config"},
}  # fmt: skip
"""Options of many commands, by the command whose page describes them; `kdbg COMMAND --help` lists them all."""
COMMANDS = {
    "browse": "browse", "decode": "decode", "diagnose": "diagnose", "story": "story", "watch": "watch",
    "explain": "explain", "stats": "stats", "records": "records", "query": "query", "diff": "diff", "lint": "lint",
    "readiness": "readiness", "send": "send", "proxy": "proxy", "replay": "replay", "mock": "replay",
    "redact": "redact", "export": "redact", "pipeline": "pipeline", "tables": "pipeline", "report": "diagnose",
    "index": "index", "wireshark": "wireshark",
}  # fmt: skip
"""The pages that have the options of a command, by the command."""
PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("tables", "tables"): tables,
    ("filters", "filters"): filters,
    ("where", "names"): names,
    ("telemetry", "families"): families,
    ("causes", "causes"): causes,
    ("lints", "lints"): lints,
    ("findings", "kinds"): kinds,
    ("install", "extras"): extras,
    ("changelog", "renames"): renames,
    **{(page, f"options {name}"): partial(options, name) for name, page in COMMANDS.items()},
}
"""By (topic, marker), what makes the text between `<!-- marker -->` and `<!-- /marker -->`."""


def filled(topic: str, marker: str) -> str:
    """Return a topic's text with the part between its markers made anew."""
    made = PARTS[topic, marker]()
    return re.sub(
        rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", lambda found: found[1] + made + found[2], text(topic),
        flags=re.DOTALL,
    )  # fmt: skip
