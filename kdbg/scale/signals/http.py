"""The HTTP session that a collector is asked by, which remembers what came of it: the SDK only says that it failed."""

from __future__ import annotations

from typing import Any

from requests import RequestException, Response, Session


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
        """Ask; raise `Nobody`, or what `Session` raises where somebody has answered before."""
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
