"""What is to be sent: an API, and its body at whichever version it will be.

The body comes from the API's own options (its form), from --body or from a capture; --set changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

from ....errors import BuildError, InputError, UnknownVersion
from ....exchanges.messages.assign import Assignment, assign, in_order
from ....exchanges.messages.guide_names import guide_names, understood
from ....live.client.bodies import body_bytes
from ....live.client.forms import FORMS, Body
from ....protocol.wire import Api
from ..reencode import guarded

if TYPE_CHECKING:
    from ....live.client import Cluster


class Request:
    """`version` is the one to send come what may, None for the highest that the broker knows too, of `versions`.

    `varies` says that `prepare` may change the body each time it is called.
    """

    varies = False
    api: Api
    version: int | None
    versions: range
    sets: list[Assignment]
    written: int

    def __init__(self, api: Api, version: int | None, sets: list[Assignment]) -> None:
        if version is not None and version not in api.versions:
            refusal = UnknownVersion(api.name, version, api.versions[0], api.versions[-1])
            raise InputError(f"{refusal}; use --raw to send other bytes")
        self.api, self.version, self.versions, self.sets = api, version, api.versions, in_order(sets)
        self.written = 0
        """The version that a body was last made for."""

    async def prepare(self, cluster: Cluster) -> None:
        """Look up what the body depends on."""

    def initial(self, version: int) -> Body:
        """Return the body for a version, before --set changes it."""
        raise NotImplementedError

    def body(self, version: int) -> Body:
        """Return the body for a version, with --set applied. Raise `InputError` for a body that cannot be."""
        self.written = version
        names = guide_names(self.api, "request", version)
        try:
            body = names.body(self.initial(version))
            for one in self.sets:
                renamed = one._replace(steps=tuple(names.steps(one.steps)))
                assign(body, renamed.suited(self.api.at("request", version)))
            _, body = understood(self.api, "request", version, body)
        except BuildError as error:
            raise self.refusal(error) from None
        return cast(Body, body)

    def refusal(self, error: BuildError) -> InputError:
        """Return the error to raise for a body that cannot be: what is wrong, and how to see a whole one."""
        name, version = self.api.name, self.written
        hint = f"kdbg send {name} --version {version} --show-template prints a complete body"
        return InputError(f"{name} v{version}: {error}; {hint}")


class FromBody(Request):
    """A body that the user wrote, or that a capture holds: sent as it is, so that no typing error is overlooked."""

    given: dict[str, Any]

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], given: Any) -> None:
        super().__init__(api, version, sets)
        if not isinstance(given, Mapping):
            raise InputError("--body: not a JSON object; print a body with --show-template")
        self.given = dict(given)

    def initial(self, version: int) -> Body:
        return deepcopy(self.given)

    def body(self, version: int) -> Body:
        body = super().body(version)
        with suppress(BuildError):  # said when it is sent: a topic's name may have become its id by then
            guarded(lambda: body_bytes(self.api, version, body))
        return body


class FromOptions(Request):
    """A body that the API's own options come to; `looked_up` completes what was said."""

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any]) -> None:
        super().__init__(api, version, sets)
        self.said: dict[str, Any] = dict(said)
        self.looked_up: dict[str, Any] = {}

    def initial(self, version: int) -> Body:
        return FORMS[self.api.name](version, **self.said | self.looked_up)
