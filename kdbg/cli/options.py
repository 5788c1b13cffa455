"""Options that the commands which look things up share."""

from __future__ import annotations

from typing import Final

import click

color_option: Final = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the output; auto follows the terminal and NO_COLOR.",
)
format_option: Final = click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text", help="Text, or JSON Lines."
)
