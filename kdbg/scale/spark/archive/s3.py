"""How S3 is accessed: properties, the environment and ~/.aws in, the options of each reader out.

pyarrow, deltalake and Hadoop's S3A look for endpoint, region and credentials in different places, and the workers of a
cluster may have none of them. Here they are collected once. Tasks get them with their work: Spark's configuration is on
its web pages and in the list of processes. Credentials that no file contains (roles, single sign-on) are left to the
readers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from ....errors import InputError

URL: Final = re.compile(r"s3a?://(?P<path>[^?]*(?:\?(?!\w+=)[^?]*)*)(?:\?(?P<options>\w+=.*))?", re.DOTALL)
"""An object as command lines name it: the key is not percent-encoded, and may have the ? of a glob."""
OPTIONS: Final = {"region", "scheme", "endpoint_override", "allow_bucket_creation"}
"""pyarrow's options in a URL."""
PREFIX: Final = "spark.hadoop.fs.s3a."
FIELDS: Final[Mapping[str, tuple[str, tuple[str, ...], str]]] = {
    "access_key": ("access.key", ("AWS_ACCESS_KEY_ID",), "aws_access_key_id"),
    "secret_key": ("secret.key", ("AWS_SECRET_ACCESS_KEY",), "aws_secret_access_key"),
    "session_token": ("session.token", ("AWS_SESSION_TOKEN",), "aws_session_token"),
    "endpoint": ("endpoint", ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), "endpoint_url"),
    "region": ("endpoint.region", ("AWS_REGION", "AWS_DEFAULT_REGION"), "region"),
    "path_style": ("path.style.access", (), ""),
    "ssl": ("connection.ssl.enabled", (), ""),
}
"""What is known of S3: the property of S3A after PREFIX, the variables, and the key in a profile of ~/.aws."""
CREDENTIALS: Final = ("access_key", "secret_key", "session_token")


class S3Access(NamedTuple):
    """How S3 is accessed: the endpoint is a URL; "" leaves a choice to the reader."""

    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""
    endpoint: str = ""
    region: str = ""
    path_style: str = ""

    def at(self, url: str) -> tuple[S3Access, str, bool]:
        """Return the access with the options of a URL, the path in it, and whether a bucket may be created."""
        matched = URL.fullmatch(url)
        assert matched is not None, url
        path = matched["path"].removesuffix("/")
        options = dict(each.partition("=")[::2] for each in (matched["options"] or "").split("&") if each)
        bucket = path.partition("/")[0]
        if "@" in bucket or ":" in bucket:
            raise InputError("s3://…: credentials in a URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
        if not bucket or not OPTIONS.issuperset(options):
            raise InputError(f"{url}: not a URL of S3; see kdbg guide pipeline")
        host = options.get("endpoint_override", "")
        endpoint = host if "://" in host or not host else f"{options.get('scheme', 'https')}://{host}"
        found = self._replace(endpoint=endpoint or self.endpoint, region=options.get("region") or self.region)
        return found, path, options.get("allow_bucket_creation") == "true"

    def filesystem(self, url: str) -> tuple[Any, str]:
        """Return pyarrow's file system for a URL, and the path in it."""
        from pyarrow import fs

        found, path, creates = self.at(url)
        scheme, _, host = found.endpoint.partition("://")
        system = fs.S3FileSystem(
            **{name: getattr(found, name) or None for name in CREDENTIALS}, scheme=scheme or None,
            region=found.region or ("us-east-1" if host else fs.resolve_s3_region(path.partition("/")[0])),
            endpoint_override=host or None, force_virtual_addressing=bool(host) and found.path_style == "false",
            allow_bucket_creation=creates,
        )  # fmt: skip
        return system, path

    def delta_options(self, url: str, system: Any) -> dict[str, str]:
        """Return the options of deltalake for the store at a URL, which is pyarrow's file system."""
        found = self.at(url)[0]
        options = {
            "aws_access_key_id": found.access_key, "aws_secret_access_key": found.secret_key,
            "aws_session_token": found.session_token, "aws_endpoint_url": found.endpoint, "aws_region": system.region,
            "aws_virtual_hosted_style_request": "true" if found.endpoint and found.path_style == "false" else "",
            "allow_http": "true" if found.endpoint.startswith("http://") else "", "conditional_put": "etag",
        }  # fmt: skip
        return {name: value for name, value in options.items() if value}

    def hadoop_options(self) -> dict[str, str]:
        """Return the properties of Hadoop's S3A."""
        found = {name: getattr(self, field, "") for field, (name, _, _) in FIELDS.items()}
        found["path.style.access"] = self.path_style or ("true" if self.endpoint else "")
        return {f"fs.s3a.{name}": value for name, value in found.items() if value}


class _Given:
    """What this process was given: properties on the command line, or the driver's access with a task."""

    properties: Mapping[str, str] = {}
    access: S3Access | None = None
    is_used: bool = False


def is_s3(name: str) -> bool:
    """Return whether a name is a URL of S3."""
    return URL.match(name) is not None


def use_properties(properties: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Take the properties of S3A that apply to kdbg's access; return the others."""
    said = dict(properties)
    found = {field: said.pop(PREFIX + name) for field, (name, _, _) in FIELDS.items() if PREFIX + name in said}
    for field in ("path_style", "ssl"):
        if (value := found.get(field, "true").lower()) not in ("true", "false"):
            raise InputError(f"{PREFIX}{FIELDS[field][0]}={value}: not true or false")
    if ("access_key" in found) != ("secret_key" in found):
        raise InputError(f"{PREFIX}access.key without {PREFIX}secret.key, or the reverse; give both")
    _Given.properties = found
    return list(said.items())


@contextmanager
def using(access: S3Access | None) -> Iterator[None]:
    """Access S3 in this process as the driver does, which sent its `access` with a task, until the task is over."""
    before, _Given.access = _Given.access, access
    try:
        yield
    finally:
        _Given.access = before


def shared() -> S3Access | None:
    """Return what tasks must know of S3, None if no URL of S3 was opened."""
    return access() if _Given.is_used else None


def access() -> S3Access:
    """Return how S3 is accessed now; files may get new credentials while kdbg runs."""
    _Given.is_used = True
    if _Given.access is not None:
        return _Given.access
    given = _Given.properties
    environment = {field: next(filter(None, map(os.environ.get, names)), "") for field, (_, names, _) in FIELDS.items()}
    sources = [given, environment, _profile()]
    found = {name: next((each[name] for each in sources if each.get(name)), "") for name in ("endpoint", "region")}
    if found["endpoint"] and "://" not in found["endpoint"]:
        scheme = "http" if given.get("ssl", "").lower() == "false" else "https"
        found["endpoint"] = f"{scheme}://{found['endpoint']}"
    keys = next((each for each in sources if each.get("access_key") and each.get("secret_key")), {})
    found |= {name: keys.get(name, "") for name in CREDENTIALS}
    return S3Access(**found, path_style=given.get("path_style", "").lower())


def _profile() -> dict[str, str]:
    """Return what the files of ~/.aws contain for AWS_PROFILE."""
    name = os.environ.get("AWS_PROFILE", "")
    files = [os.environ.get(f"AWS_{variable}_FILE") or f"~/.aws/{file}"
             for variable, file in (("CONFIG", "config"), ("SHARED_CREDENTIALS", "credentials"))]  # fmt: skip
    config, credentials = map(_sections, files)
    sections = [config.get(f"profile {name}" if name else "default"), credentials.get(name or "default")]
    if name and sections == [None, None]:
        raise InputError(f"AWS_PROFILE={name}: neither {files[0]} nor {files[1]} has this profile")
    said = dict(chain.from_iterable(each.items() for each in sections if each))
    services = config.get(f"services {said.get('services')}", {}).get("s3", "")
    named = re.search(r"^\s*endpoint_url\s*=\s*(\S+)", services, re.MULTILINE)
    return {field: said.get(key, "") for field, (_, _, key) in FIELDS.items()} | (
        {"endpoint": named[1]} if named else {}
    )


def _sections(name: str) -> dict[str, dict[str, str]]:
    """Return the sections of a file of ~/.aws, none if there is no file."""
    parser = ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(Path(name).expanduser().read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, ConfigError) as error:
        raise InputError(f"{name}: not readable as an AWS configuration file ({type(error).__name__})") from None
    return {section: dict(parser[section]) for section in parser.sections()}
