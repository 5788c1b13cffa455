"""The options of `kdbg send` that hold for every API, in groups; what was said by them, to the settings of a session.

Settings come from the command line, else from a properties file, else from the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from ....errors import InputError
from ....views.render.views import VIEWS
from ..completion import api_versions
from ..options import HELP, TREE_OPTIONS, F, all_of

if TYPE_CHECKING:
    from ....live.client.settings import Sasl, Settings, Tls

NOWHERE = "no broker given; use --broker host:9092, KDBG_BROKER, or --broker mock: for a built-in mock cluster"
MECHANISM = "no SASL mechanism given; use --sasl-mechanism PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"


class Grouped(click.Option):
    """An option under a heading of its own in the help."""

    def __init__(self, *args: Any, group: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


SendOptions: TypeAlias = SimpleNamespace
"""What was said on the command line, but for the API's own options: by the names of the options below."""


def _options(group: str) -> Callable[..., Callable[[F], F]]:
    return partial(click.option, cls=Grouped, group=group)


brokers: Final = _options("Broker")
broker_options: Final = all_of(
    brokers("--broker", "-b", metavar="HOST:PORT,…",
            help="Set the bootstrap brokers (default: --config or $KDBG_BROKER); mock: is a built-in mock cluster."),
    brokers("--direct", is_flag=True, help="Send to this broker instead of the leader or coordinator."),
    brokers("--only-named", is_flag=True, help=HELP["only-named"]),
    brokers("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=HELP["timeout"]),
    brokers("--client-id", metavar="TEXT", help="Set the client id in the header (default: kdbg)."),
    brokers("--max-response", type=click.IntRange(1), default=100 << 20, metavar="BYTES",
            help="Limit the size of a response (default: 100 MiB)."),
    brokers("--config", metavar="FILE", help=HELP["config"]),
)  # fmt: skip

requests: Final = _options("Request")
request_options: Final = all_of(
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
round_options: Final = all_of(
    rounds("--all-versions", is_flag=True, help="Send every version that both sides support; print a table."),
    rounds("--repeat", type=click.IntRange(1), metavar="N",
           help="Send the request N times; print throughput and latency."),
    rounds("--in-flight", type=click.IntRange(1), default=1, metavar="K",
           help="Keep up to K requests in flight, with --repeat (default: 1)."),
)  # fmt: skip

outputs: Final = _options("Output")
output_options: Final = all_of(
    outputs("--format", "-f", type=click.Choice(list(VIEWS)), help="Set the output format (default: tree)."),
    outputs("--show-exchanges", is_flag=True,
            help="Also show the auxiliary exchanges: ApiVersions, Metadata, SASL, retries."),
    outputs("--trace", is_flag=True, help="Log each step to stderr."),
    outputs("--write", metavar="FILE.pcap", help=HELP["write"]),
    outputs("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help=HELP["color"]),
    outputs("--full", is_flag=True, help=HELP["full"]),
    outputs("--show-secrets", is_flag=True, help=HELP["show-secrets"]),
    outputs("--hide-values", is_flag=True, help=HELP["hide-values"]),
    outputs("--explain-fields", is_flag=True, help=HELP["explain-fields"]),
    *(outputs(name, **about) for name, about in TREE_OPTIONS),
)  # fmt: skip

security: Final = _options("TLS and SASL")
security_options: Final = all_of(
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


def reach(options: SendOptions) -> tuple[str, Settings]:
    """Return (brokers, settings): of the command line, else --config, else the environment; raise `InputError`."""
    from ....live.client.settings import Settings, read
    from ....live.client.settings import settings as from_properties

    given = read(options.config) if options.config is not None else {}
    broker = options.broker or given.get("bootstrap.servers") or os.environ.get("KDBG_BROKER")
    if not broker:
        raise InputError(NOWHERE)
    base = from_properties(given)
    return broker, Settings(
        client_id=options.client_id if options.client_id is not None else base.client_id,
        timeout=options.timeout or base.timeout,
        max_response=options.max_response,
        tls=tls(options, base.tls),
        sasl=sasl(options, base.sasl),
        only_named=options.only_named,
        trust_advertised=options.trust_advertised,
    )


def tls(options: SendOptions, base: Tls | None) -> Tls | None:
    """Return the settings of TLS if an option or the properties speak of it, else None."""
    from ....live.client.settings import Tls

    files = {
        "ca": options.ca, "certificate": options.cert, "key": options.cert_key, "server_name": options.server_name,
        "keys_out": options.tls_keys_out,
    }  # fmt: skip
    said: dict[str, Any] = {name: value for name, value in files.items() if value}
    if not (options.tls or options.insecure or said or base):
        return None
    found = replace(base or Tls(), **said)
    if options.insecure:
        found = replace(found, verify=False)
    password = os.environ.get("KDBG_KEY_PASSWORD")
    return replace(found, password=password) if password and found.password is None else found


def sasl(options: SendOptions, base: Sasl | None) -> Sasl | None:
    """Return the settings of SASL, with its secret, None without any; raise `InputError` where a part is missing."""
    from ....live.client.settings import Sasl, read_text

    names = (options.sasl_username, options.sasl_password, options.sasl_password_file, options.sasl_token_file)
    if not (options.sasl_mechanism or options.sasl_raw or any(names) or base):
        return None
    mechanism = options.sasl_mechanism or (base.mechanism if base else "")
    if not mechanism:
        raise InputError(MECHANISM)
    found = replace(
        base or Sasl(mechanism), mechanism=mechanism.upper(), raw=options.sasl_raw,
        **({"username": options.sasl_username} if options.sasl_username else {}),
    )  # fmt: skip
    if found.mechanism == "OAUTHBEARER":
        file = options.sasl_token_file
        token = read_text(file).rstrip("\r\n") if file else os.environ.get("KDBG_SASL_TOKEN", "")
        return replace(found, token=token)
    return replace(found, password=password(options, found))


def password(options: SendOptions, found: Sasl) -> str:
    """Return the password, else prompt for it; "" without a user name. Raise `InputError` without a terminal."""
    if options.sasl_password is not None:
        return str(options.sasl_password)
    if options.sasl_password_file is not None:
        from ....live.client.settings import read_text

        return read_text(options.sasl_password_file).rstrip("\r\n")
    known = found.password or os.environ.get("KDBG_SASL_PASSWORD")
    if known:
        return known
    if not found.username:
        return ""  # what is missing first is said first
    if sys.stdin.isatty() and sys.stderr.isatty():
        return str(click.prompt(f"Password of {found.username}", hide_input=True, err=True))
    raise InputError(f"{found.mechanism} requires a password; use --sasl-password-file or KDBG_SASL_PASSWORD")
