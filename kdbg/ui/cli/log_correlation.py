"""Logs beside other things: those that `kdbg decode --log` joins to a capture, protocol lines that were pasted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ...analysis.logs.join import Join
from ...analysis.logs.log import ApplicationLog, has_lines
from ...capture.source import open_source
from ...errors import CaptureError
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...views.render.style import Look
from .output import Writer


def without_lines(text: str, format: str, look: Look, writer: Writer) -> tuple[str, str]:
    """Show the exchanges of the protocol lines in a text; return (the text with these lines empty, these lines)."""
    from ...analysis.logs.conversations import Conversations
    from ...analysis.logs.kafkajs import on_one_line
    from ...analysis.logs.lines import Lines
    from ...views.render.views import view

    text = on_one_line(text)
    told = Lines().take(text.encode("utf-8", "replace"), end=True)
    if not told:
        return text, ""
    pairing = Conversations()
    render = view("tree" if format == "hex" else format).exchange(look, pairing.names_then)
    for chunk in pairing.chunks([told]):
        for exchange in chunk:
            writer.write(render(exchange))
    said = {line.number for line in told}
    lines = text.split("\n")
    left = "\n".join("" if number in said else line for number, line in enumerate(lines, 1))
    return left, "\n".join(line for number, line in enumerate(lines, 1) if number in said)


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
        return [f"{joined:,} of {count(lines, 'log line')} matched"]


@contextmanager
def joins(names: Sequence[str]) -> Iterator[Joins]:
    """Make a context with the logs of these names, open; raise `CaptureError` for one without protocol lines."""
    with ExitStack() as opened:
        found = []
        for name in names:
            source = open_source(name)
            opened.callback(source.close)
            if not has_lines(source):
                raise CaptureError(name, "no protocol lines of a client or broker", "see kdbg guide logs")
            found.append(Join(name if len(names) > 1 else "", ApplicationLog(source).blocks()))
        yield Joins(found)
