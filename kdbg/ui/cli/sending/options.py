"""The options of `kdbg send` that hold for every API, in groups, and what was said by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import click

from ....views.render.views import VIEWS
from ..completions import api_versions
from ..options import HELP
from ..output import SCREEN_OPTIONS
from .command import Grouped

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SendOptions:
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


brokers: Final = _options("Broker")
broker_options: Final = _decorator(
    brokers("--broker", "-b", metavar="HOST:PORT,…",
            help="Set the bootstrap brokers (default: --config or $KDBG_BROKER); mock: is a built-in mock cluster."),
    brokers("--direct", is_flag=True, help="Send to this broker instead of the leader or coordinator."),
    brokers("--only-named", is_flag=True, help=HELP["only-named"]),
    brokers("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help=HELP["timeout"]),
    brokers("--client-id", metavar="TEXT", help="Set the client id in the header (default: kdbg)."),
    brokers("--max-response", type=click.IntRange(1), default=100 << 20, metavar="BYTES",
            help="Limit the size of a response (default: 100 MiB)."),
    brokers("--config", metavar="FILE", help=HELP["config"]),
)  # fmt: skip

requests: Final = _options("Request")
request_options: Final = _decorator(
    requests("--version", "-v", type=click.IntRange(0, 32767), metavar="N", shell_complete=api_versions,
             help="Send this API version, even if the broker does not support it (default: highest common version)."),
    requests("--body", metavar="JSON|@FILE|-", help="Set the body as JSON; omitted fields get their defaults."),
    requests("--set", "sets", multiple=True, metavar="PATH=VALUE",
             help="Set a field: 'topics[0].name=orders'. VALUE is JSON, text or a named value (topic). Repeatable."),
    requests("--from", "source", metavar="CAPTURE#N", help="Send request N of a capture again; --set changes it."),
    requests("--raw", metavar="HEX|@FILE", help="Send these bytes as they are, size and header included."),
    requests("--show-template", is_flag=True, help="Print a body to fill in, and send nothing."),
)  # fmt: skip

rounds: Final = _options("Repetition")
round_options: Final = _decorator(
    rounds("--all-versions", is_flag=True, help="Send every version that both sides support; print a table."),
    rounds("--repeat", type=click.IntRange(1), metavar="N",
           help="Send the request N times; print throughput and latency."),
    rounds("--in-flight", type=click.IntRange(1), default=1, metavar="K",
           help="Keep up to K requests in flight, with --repeat (default: 1)."),
)  # fmt: skip

outputs: Final = _options("Output")
output_options: Final = _decorator(
    outputs("--format", "-f", type=click.Choice(list(VIEWS)), help="Set the output format (default: tree)."),
    outputs("--show-exchanges", is_flag=True,
            help="Also show the auxiliary exchanges: ApiVersions, Metadata, SASL, retries."),
    outputs("--trace", is_flag=True, help="Log each step to stderr."),
    outputs("--write", metavar="FILE.pcap", help=HELP["write"]),
    outputs("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
            help=HELP["color"]),
    outputs("--full", is_flag=True, help=HELP["full"]),
    outputs("--show-secrets", is_flag=True, help=HELP["show-secrets"]),
    outputs("--hide-values", is_flag=True, help=HELP["hide-values"]),
    outputs("--explain-fields", is_flag=True, help=HELP["explain-fields"]),
    *(outputs(name, **about) for name, about in SCREEN_OPTIONS),
)  # fmt: skip

security: Final = _options("TLS and SASL")
security_options: Final = _decorator(
    security("--tls", is_flag=True,
             help="Use TLS. Implied by --ca, --cert, --cert-key, --server-name, --insecure and --tls-keys-out."),
    security("--ca", metavar="PEM", help="Trust these CA certificates (default: the system's)."),
    security("--cert", metavar="PEM", help="Use this client certificate."),
    security("--cert-key", "--key", "cert_key", metavar="PEM",
             help="Read the private key of --cert from this file; if it is encrypted, set KDBG_KEY_PASSWORD."),
    security("--server-name", metavar="NAME", help="Expect this host name in the broker's certificate."),
    security("--insecure", is_flag=True, help="Skip the verification of the broker's certificate (insecure)."),
    security("--tls-keys-out", metavar="FILE", help="Append the TLS secrets of the session to FILE."),
    security("--sasl-mechanism", metavar="NAME", help="Use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."),
    security("--sasl-username", metavar="NAME", help="Set the user name."),
    security("--sasl-password", metavar="TEXT",
             help="Set the password (visible to other users; prefer a file, KDBG_SASL_PASSWORD or the prompt)."),
    security("--sasl-password-file", metavar="FILE", help="Read the password from this file."),
    security("--sasl-token-file", metavar="FILE",
             help="Read the OAUTHBEARER token from this file (default: $KDBG_SASL_TOKEN)."),
    security("--sasl-raw", is_flag=True, help="Use SaslHandshake v0 with raw tokens (brokers older than 1.0)."),
    security("--trust-advertised", is_flag=True,
             help="Send credentials to all advertised hosts, not only to the --broker hosts and their domain."),
)  # fmt: skip
