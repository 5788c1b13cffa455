"""Options, a properties file and the environment, to the brokers and the settings of a session."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ....errors import InputError
from ....live.client.settings import Sasl, Settings, Tls, read
from ....live.client.settings import settings as from_properties
from .options import SendOptions

NOWHERE = "no broker given; use --broker host:9092, KDBG_BROKER, or --broker mock: for a built-in mock cluster"
MECHANISM = "no SASL mechanism given; use --sasl-mechanism PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"


def reach(options: SendOptions) -> tuple[str, Settings]:
    """Return (brokers, settings): from the command line, else from --config, else from the environment.

    Raise `InputError` where no broker is named.
    """
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
    """Return the settings of SASL, with its secret, if an option or the properties speak of it, else None.

    Raise `InputError` where the mechanism or the password is missing.
    """
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
        return replace(found, token=token(options))
    return replace(found, password=password(options, found))


def password(options: SendOptions, found: Sasl) -> str:
    """Return the password: of the command line, a file, the properties or the environment, else prompt for it.

    Return "" where the user name is missing too. Raise `InputError` where there is no terminal to ask at.
    """
    if options.sasl_password is not None:
        return options.sasl_password
    if options.sasl_password_file is not None:
        return secret(options.sasl_password_file)
    known = found.password or os.environ.get("KDBG_SASL_PASSWORD")
    if known:
        return known
    if not found.username:
        return ""  # what is missing first is said first
    if sys.stdin.isatty() and sys.stderr.isatty():
        return str(click.prompt(f"Password of {found.username}", hide_input=True, err=True))
    raise InputError(f"{found.mechanism} requires a password; use --sasl-password-file or KDBG_SASL_PASSWORD")


def token(options: SendOptions) -> str:
    """Return the token of a file or of the environment; "" without one."""
    return secret(options.sasl_token_file) if options.sasl_token_file else os.environ.get("KDBG_SASL_TOKEN", "")


def secret(path: str) -> str:
    """Return the text of a file without the newline at its end. Raise `InputError` where it cannot be read."""
    try:
        return Path(path).read_text("utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
