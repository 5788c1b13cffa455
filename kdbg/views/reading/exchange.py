"""An exchange as a program gets it: what the engine found, with ways to look at it and to pass it on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from ...exchanges.messages import exchange as captured
from ...exchanges.messages.capture_points import CapturePoints
from ...protocol.wire.readings.outline import names_by_then
from ..render.jsonlines import json_line
from ..render.style import Look
from ..render.text import html, render


class Exchange(captured.Exchange):
    """A request and its response, as they stood on the wire; either may be missing from the capture.

    It does not change. Times are nanoseconds since the epoch (`time`), durations milliseconds (`latency_ms`).
    """

    __slots__ = ("_learnt",)
    _learnt: dict[UUID, str]

    @classmethod
    def of(cls, found: captured.Exchange, topics: dict[UUID, str]) -> Exchange:
        """Return what the engine delivered; `topics` tells the names of topic ids."""
        self = cls(found.peers, found.api, found.version, found.correlation_id, found.client_id)
        self.number, self.answered, self.findings = found.number, found.answered, found.findings
        self.request, self.response, self._learnt = found.request, found.response, topics
        self.lines, self.logged_latency = found.lines, found.logged_latency
        self.capture_points, self.timing = found.capture_points, found.timing
        return self

    @property
    def _topics(self) -> dict[UUID, str]:
        """The names of topic ids that were known when it was handed out."""
        half = self.request or self.response
        return names_by_then(self._learnt, half.names) if half is not None else self._learnt

    @property
    def places(self) -> CapturePoints | None:
        """The former name of `capture_points`."""
        return self.capture_points

    def to_dict(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """Return what `kdbg decode --format json` prints of it, as dicts, lists, strings and numbers.

        `kdbg.encode` takes a body out of it back to the same bytes, unless something in it is hidden.
        """
        found: dict[str, Any] = orjson.loads(json_line(self, self._topics, Look(show_secrets=show_secrets)))
        return found

    def text(self, format: str = "tree", *, show_secrets: bool = False) -> str:
        """Return it in one of the views of `kdbg decode`, without colour."""
        return render(self, format, topics=self._topics, show_secrets=show_secrets)

    def _repr_html_(self) -> str:
        """Return the tree for a notebook."""
        return html(self.text())
