"""Options that the commands which look things up share."""

from __future__ import annotations

from typing import Final

import click

HELP: Final = {
    "color": "Colour the output; auto follows the terminal and NO_COLOR (default: auto).",
    "conf": "Set a Spark configuration property. Repeatable.",
    "config": "Read brokers, TLS and SASL settings from a Java client.properties file.",
    "explain-fields": "Describe each field: next to it in a tree, below a hexdump.",
    "full": "Show long arrays and values in full (always so in a pipe).",
    "hide-values": "Show only the sizes of record keys, values and headers.",
    "light": "Use the light theme (press d to switch).",
    "listen": "Listen here for the first broker; further brokers use the next ports (default: 127.0.0.1:19092).",
    "advertise": "Advertise this host name to clients instead of the --listen host.",
    "listen-cert": "Serve TLS with this certificate (and key).",
    "listen-key": "Read the private key from this file, if it is not in the certificate file.",
    "only-named": "Connect only to hosts given by --broker.",
    "show-secrets": "Show passwords, tokens and other secrets.",
    "timeout": "Limit each connection attempt, and each response after the wait that its request allows (default: 10).",
    "verbose": "Print Spark's log output.",
    "write": "Save the traffic as a plaintext capture, including passwords.",
}
"""The help of options that several commands have."""
color_option: Final = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help=HELP["color"]
)
format_option: Final = click.option(
    "--format",
    "-f",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Set the output format: text, or JSON Lines (default: text).",
)
