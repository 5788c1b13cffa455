"""`kdbg diff`: two exchanges field by field, or two captures by meaning."""

from __future__ import annotations

from typing import Any

import click

from ...exchanges.filters.filter_set import Filters
from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import look, look_options, values_option, without_values


@click.command(context_settings={"max_content_width": 100})
@click.argument("a", metavar="A[#N]")
@click.argument("b", metavar="B[#M]")
@filter_options
@click.option(
    "--where-a",
    metavar="EXPR",
    help="Apply this --where expression to A only, for example to compare two clients of a capture.",
)
@click.option("--where-b", metavar="EXPR", help="Apply this --where expression to B only.")
@click.option("--ids", is_flag=True, help="Include ids, times and checksums in the comparison of two exchanges.")
@click.option("--all", "every", is_flag=True, help="Show identical rows of two captures as well.")
@click.option("--format", "-f", "form", type=click.Choice(["table", "json"]), default="table",
              help="Set the output format: text tables, or JSON Lines (default: table).")  # fmt: skip
@look_options
@values_option
@definitions_option
@memory_option
def command(a: str, b: str, where_a: str | None, where_b: str | None, ids: bool, every: bool, form: str, color: str,
            full: bool, show_secrets: bool, hide_values: bool, **filters: Any) -> int:  # fmt: skip
    """Compare two exchanges, or two captures.

    A#N and B#M are exchanges, by the numbers that `kdbg decode` shows. Each field that differs is one line.
    Broker-assigned ids, times and checksums are ignored.

    Two captures are compared by software, API versions, values that requests set, and errors. Filters apply to both:
    --api fetch compares how two clients fetch. The exit status does not depend on the differences.

    \b
    kdbg diff mine.pcap#17 theirs.pcap#4
    kdbg diff mine.pcap librdkafka.pcap --api fetch
    kdbg diff all.pcap all.pcap --where-a 'client_id == "mine"' --where-b 'client_id == "theirs"'
    """
    from .comparing import run

    shown = without_values(look(color, full, show_secrets), hide_values)
    sides = (a, one_side(filters, where_a)), (b, one_side(filters, where_b))
    return run(sides, ids=ids, every=every, form=form, look=shown)


def one_side(options: dict[str, Any], where: str | None) -> Filters:
    """Return the filters of one side: those of both, and its own expression."""
    both = options.get("where")
    expression = f"({both}) && ({where})" if both and where else where or both
    return take_filters({**options, "where": expression})
