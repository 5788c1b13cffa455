"""The options of `kdbg send` that hold for every API, in groups, and what was said by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import click

from ...render.views import VIEWS
from ..completing import api_versions
from ..output import SCREEN_OPTIONS
from .command import Grouped

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Options:
    """What was said on the command line, but for the API's own options."""

    broker: str | None
    direct: bool
    only_named: bool
    timeout: float | None
    client_id: str | None
    max_response: int
    config: str | None
    version: int | None
    body: str | None
    sets: tuple[str, ...]
    source: str | None
    raw: str | None
    show_template: bool
    all_versions: bool
    repeat: int | None
    in_flight: int
    format: str | None
    show_exchanges: bool
    trace: bool
    write: str | None
    color: str
    full: bool
    show_secrets: bool
    hide_values: bool
    explain_fields: bool
    depth: int | None
    only_errors: bool
    local: bool
    no_pager: bool
    tls: bool
    ca: str | None
    cert: str | None
    cert_key: str | None
    insecure: bool
    server_name: str | None
    tls_keys_out: str | None
    sasl_mechanism: str | None
    sasl_username: str | None
    sasl_password: str | None
    sasl_password_file: str | None
    sasl_token_file: str | None
    sasl_raw: bool
    trust_advertised: bool


def _decorator(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _options(group: str) -> Callable[..., Callable[[F], F]]:
    return partial(click.option, cls=Grouped, group=group)


brokers: Final = _options("The broker")
broker_options: Final = _decorator(
    brokers("--broker", "-b", metavar="HOST:PORT,…", help=("Bootstrap brokers (default: --config or "
                                                           "$KDBG_BROKER). mock: starts a mock cluster inside "
                                                            "kdbg (mock:3 with three brokers).")),
    brokers("--direct", is_flag=True, help="Send to this broker instead of the leader or coordinator."),
    brokers("--only-named", is_flag=True, help="Connect only to hosts given by --broker, whatever brokers advertise."),
    brokers("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help="For connecting, and for each answer; what a request lets a broker wait comes on top. [default: 10]"),
    brokers("--client-id", metavar="TEXT", help="The client id in the header. [default: kdbg]"),
    brokers("--max-response", type=click.IntRange(1), default=100 << 20, metavar="BYTES",
            help="Largest answer that is taken. [default: 100 MiB]"),
    brokers("--config", metavar="FILE", help="A client.properties: brokers, TLS and SASL by the Java client's names."),
)  # fmt: skip

requests: Final = _options("The request")
request_options: Final = _decorator(
    requests("--version", "-v", type=click.IntRange(0, 32767), metavar="N", shell_complete=api_versions,
             help="API version to send, even if the broker does not support it (default: highest common version)."),
    requests("--body", metavar="JSON|@FILE|-", help="Body as JSON; omitted fields get their defaults."),
    requests("--set", "sets", multiple=True, metavar="PATH=VALUE",
             help="Set a field: 'topics[0].name=orders', in quotes for the shell. VALUE is JSON, or text, or a value's "
             "name: resource_type=topic. May be repeated."),
    requests("--from", "source", metavar="CAPTURE#N", help="Send request N of a capture again; --set changes it."),
    requests("--raw", metavar="HEX|@FILE", help="Send these bytes as they are, size and header included."),
    requests("--show-template", is_flag=True, help="Print a body to fill in, and send nothing."),
)  # fmt: skip

rounds: Final = _options("Many requests")
round_options: Final = _decorator(
    rounds("--all-versions", is_flag=True, help="Send every version that both sides know, and print a table."),
    rounds("--repeat", type=click.IntRange(1), metavar="N", help=("Send the request N times; print throughput "
                                                                  "and latency.")),
    rounds("--in-flight", type=click.IntRange(1), default=1, metavar="K",
           help="With --repeat: send up to K before the first is answered. [default: 1]"),
)  # fmt: skip

outputs: Final = _options("The output")
output_options: Final = _decorator(
    outputs("--format", "-f", type=click.Choice(list(VIEWS)), help="The view; tree if not said."),
    outputs("--show-exchanges", is_flag=True, help=("Also show the auxiliary exchanges: ApiVersions, Metadata, "
                                                    "SASL, retries.")),
    outputs("--trace", is_flag=True, help="Log each step to stderr."),
    outputs("--write", metavar="FILE.pcap", help="Save the session as a capture: in the clear, passwords too."),
    outputs("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
            help="Colour the output; auto follows the terminal and NO_COLOR."),
    outputs("--full", is_flag=True, help="Show long arrays and values whole (always so in a pipe)."),
    outputs("--show-secrets", is_flag=True, help="Show passwords, tokens and other secrets."),
    outputs("--hide-values", is_flag=True, help="Show keys, values and headers of records by their lengths alone."),
    outputs("--explain-fields", is_flag=True, help="Show what each field means: behind it in a tree, below a hexdump."),
    *(outputs(name, **about) for name, about in SCREEN_OPTIONS),
)  # fmt: skip

security: Final = _options("TLS and SASL")
security_options: Final = _decorator(
    security("--tls", is_flag=True, help=("Use TLS. Implied by --ca, --cert, --cert-key, --server-name, "
                                          "--insecure and --tls-keys-out.")),
    security("--ca", metavar="PEM", help="CA certificates to trust (default: the system's)."),
    security("--cert", metavar="PEM", help="The client's certificate."),
    security("--cert-key", "--key", "cert_key", metavar="PEM", help=("Private key of --cert, if in a separate "
                                                                     "file. Encrypted keys: set KDBG_KEY_PASSWORD. (In "
                                                                    "Produce, --key is the record key.)")),
    security("--server-name", metavar="NAME", help="Expected host name in the broker's certificate."),
    security("--insecure", is_flag=True, help="Do not verify the broker's certificate (insecure)."),
    security("--tls-keys-out", metavar="FILE", help="Append the secrets of the session to FILE, for --tls-keys."),
    security("--sasl-mechanism", metavar="NAME", help="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."),
    security("--sasl-username", metavar="NAME"),
    security("--sasl-password", metavar="TEXT", help=("Password (visible to other users; prefer a file, "
                                                      "KDBG_SASL_PASSWORD or the prompt).")),
    security("--sasl-password-file", metavar="FILE"),
    security("--sasl-token-file", metavar="FILE", help="The token of OAUTHBEARER; else KDBG_SASL_TOKEN."),
    security("--sasl-raw", is_flag=True, help="Use SaslHandshake v0 with raw tokens (brokers older than 1.0)."),
    security("--trust-advertised", is_flag=True, help="Send credentials to all hosts that brokers advertise, not only "
             "to those that --broker names and hosts in their domain."),
)  # fmt: skip
