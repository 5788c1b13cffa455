"""Logs beside other things: those that `kdbg decode --log` joins to a capture, protocol lines that were pasted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ..capture.source import open_source
from ..errors import CaptureError, InputError
from ..logs.join import Join
from ..logs.log import Log, has_lines
from ..messages.exchange import Exchange
from ..render.look import Look
from .output import Writer


def without_lines(raw: str | bytes, format: str, look: Look, writer: Writer) -> str | bytes | None:
    """Show the exchanges that protocol lines in a text tell; return what is left of the text.

    That is all of it where there are no such lines, and None where there is nothing beside them to explain.
    """
    from ..logs.conversations import Conversations
    from ..logs.lines import Lines
    from ..pasted.search import takes_of
    from ..render.views import view

    data = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
    told = Lines().take(data, end=True) if b"\0" not in data else []
    if not told:
        return raw
    pairing = Conversations()
    render = view("tree" if format == "hex" else format).exchange(look, pairing.names_then)
    for chunk in pairing.chunks([told]):
        for exchange in chunk:
            writer.write(render(exchange))
    said = {line.number for line in told}
    left = b"\n".join(line for number, line in enumerate(data.split(b"\n"), 1) if number not in said)
    rest = left.decode("utf-8", "surrogateescape") if isinstance(raw, str) else left
    try:
        takes_of(rest)
    except InputError:
        return None
    return rest


class Joins:
    """The logs that are joined to captures."""

    def __init__(self, joins: Sequence[Join]) -> None:
        self.joins = joins

    def join(self, exchange: Exchange) -> None:
        """Add to an exchange the lines of all logs that speak of it."""
        for one in self.joins:
            one.join(exchange)

    def parts(self) -> list[str]:
        """Return the parts of a closing line: how many protocol lines there are, how many found their exchange."""
        for one in self.joins:
            one.finish()
        lines, joined = (sum(counts) for counts in zip(*((one.lines, one.joined) for one in self.joins), strict=True))
        return [f"{joined:,} of {lines:,} log lines joined"]


@contextmanager
def joins(names: Sequence[str]) -> Iterator[Joins]:
    """Make a context with the logs of these names, open; raise `CaptureError` for one without protocol lines."""
    with ExitStack() as opened:
        found = []
        for name in names:
            source = open_source(name)
            opened.callback(source.close)
            if not has_lines(source):
                raise CaptureError(name, "has no protocol lines of a client or broker", "see kdbg guide logs")
            found.append(Join(name if len(names) > 1 else "", Log(source).blocks()))
        yield Joins(found)
