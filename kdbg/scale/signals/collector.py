"""The HTTP session that a collector is asked by, which remembers what came of it: the SDK only says that it failed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from requests import RequestException, Response, Session

from ... import __version__
from ...errors import CannotConnect, InputError, WrongAnswer
from ...extras import install
from .attributes import SCHEMA_URL, Attributes, Span, SpanSide


class Nobody(Exception):
    """Nobody has ever answered: the SDK, which knows others, does not try again."""


class Asking(Session):
    """Asks; `answer` is the last one's status, "" if there was none, and `problem` why, as the system calls it."""

    answer: str
    problem: str

    def __init__(self) -> None:
        super().__init__()
        self._ever = False
        self.forget()

    def forget(self) -> None:
        """Forget what came of what was asked before."""
        self.answer = self.problem = ""

    def request(self, *given: Any, **named: Any) -> Response:
        """Ask; raise `Nobody`, or what `Session` raises where another has answered before."""
        self.forget()
        try:
            found = super().request(*given, **named)
        except RequestException as error:
            self.problem = reason(error)
            if self._ever:
                raise
            raise Nobody from error
        self._ever = True
        self.answer = f"{found.status_code} {found.reason or ''}".rstrip()
        return found


def reason(error: BaseException) -> str:
    """Return what the system said below an error of a library; "" where it said nothing."""
    seen: BaseException | None = error
    while seen is not None:
        for one in (seen, *(one for one in seen.args if isinstance(one, BaseException)), getattr(seen, "reason", None)):
            if isinstance(one, OSError) and one.strerror:
                return one.strerror
        seen = seen.__cause__ or seen.__context__
    return ""


PATH: Final = "/v1/traces"
NOBODY: Final = "check that a collector listens there (OTLP over HTTP: port 4318)"


class Collector:
    """A collector at a URL, its `target`, that takes spans; to be closed. Raise `InputError` where that cannot be."""

    def __init__(self, url: str, resource: Attributes) -> None:
        self.target: str = address(url)
        self.sent = self.lost = 0
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        except ImportError:
            raise InputError(f"--otlp: sending spans needs OpenTelemetry's SDK; {install('otlp')}") from None
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # what went wrong is said here
        self._asking: Any = Asking()
        try:
            self._exporter: Any = OTLPSpanExporter(endpoint=self.target, session=self._asking)
        except (ValueError, OSError) as error:  # over a variable, or a certificate that it names
            raise InputError(f"{self.target}: {error}") from None
        self._resource: Any = Resource(dict(resource))
        self._scope: Any = InstrumentationScope("kdbg", __version__, SCHEMA_URL)

    def take(self, spans: Sequence[Span]) -> None:
        """Send spans, for some seconds again where that may help; raise `CannotConnect` or `WrongAnswer`."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        self._asking.forget()
        if self._exporter.export([self._made(span) for span in spans]) is SpanExportResult.SUCCESS:
            self.sent += len(spans)
            return
        if self._asking.answer:
            raise WrongAnswer(self.target, f"responded with {self._asking.answer}")
        why = f" ({self._asking.problem})" if self._asking.problem else ""
        raise CannotConnect(self.target, f"cannot be reached{why}", NOBODY)

    def close(self) -> None:
        """Let go; a try that goes on ends."""
        self._exporter.shutdown()

    def _made(self, span: Span) -> Any:
        """Return a span as the SDK has it."""
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.trace import Link, SpanContext, SpanKind
        from opentelemetry.trace.status import Status, StatusCode

        def context(trace: bytes, span: bytes, remote: bool = False) -> SpanContext:
            return SpanContext(int.from_bytes(trace), int.from_bytes(span), remote)

        kinds = {SpanSide.INTERNAL: SpanKind.INTERNAL, SpanSide.CLIENT: SpanKind.CLIENT}
        return ReadableSpan(
            span.name, context(span.trace, span.id), context(span.trace, span.parent) if span.parent else None,
            self._resource, span.attributes,
            [Event(event.name, event.attributes, event.time) for event in span.events],
            [Link(context(link.trace, link.span, link.remote), link.attributes) for link in span.links],
            kinds[span.kind], status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=span.start, end_time=span.end, instrumentation_scope=self._scope,
        )  # fmt: skip


def address(url: str) -> str:
    """Return where spans go, given a collector's address; raise `InputError` where it is none."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise InputError(f"{url}: not the address of a collector; write http://HOST:4318")
    return url if parts.path not in ("", "/") else parts._replace(path=PATH).geturl()
