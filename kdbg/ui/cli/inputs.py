"""The files that a command reads, those named, in folders, or matched by globs; how far the reading is; what it counts.

How far it is stands on a line of stderr that is drawn over again, where stderr is a terminal. The line never gets in
the way: the cursor is left at its beginning, so that whatever is printed next, by whomever, overwrites it, and what
kdbg itself prints on a terminal clears it before. While lines are printed on the terminal, there is no need of it, and
it is not drawn.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from ...capture import Capture, open_capture
from ...capture.source import Source, find
from ...errors import CaptureError
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers, endpoint
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import Encrypted
from ...views.reading import chosen, numbered
from ...views.render.values import escape
from .output import Writer, say

AUTO, LARGE = 0, 100 << 20
"""What stands for all available cores, for captures of at least so many bytes."""
NAMED = 3
"""Files that are named where many are passed over."""
PATIENCE = 1.0
"""Seconds that pass before the line is drawn first, and after anything was printed on the terminal."""
EVERY = 0.2
"""Seconds between two drawings, at least."""
NEVER = float("inf")
Read = Callable[[Capture, Filters, str], None]
"""Takes a capture, the filters for it, and its name in tables."""
ERASE = "\r\x1b[2K"
LOST = {"dropped": "dropped by the kernel", "unread": "not shown"}
"""What is said of packets that captures lack, by what `Capture.lost` calls them."""


def processes(asked: int, size: int | None) -> int:
    """Return how many processes work on a capture of so many bytes, where so many or `AUTO` were asked for."""
    if asked != AUTO:
        return asked
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return available if hasattr(os, "fork") and (size or 0) >= LARGE else 1


def processes_of(names: Sequence[str], asked: int) -> int:
    """Return how many processes work on captures, as `processes` does."""
    return processes(asked, sum(os.stat(name).st_size for name in names if os.path.isfile(name)))  # noqa: PTH113, PTH116


class InputFiles:
    """`files` in the order in which they are read; `refused` says what nothing is found under.

    A file that nobody named, but a folder or a glob brought, may be none that can be read: it is passed over.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.files: list[str] = []
        self.refused: list[CaptureError] = []
        self._brought: set[str] = set()
        self.named: list[tuple[str, str]] = []
        """What the user named that stands for each file, and its path: both without the number of an exchange."""
        self.skipped: list[str] = []
        for name in names:
            try:
                found = find(name)
            except CaptureError as error:
                self.refused.append(error)
                continue
            if found != [name]:
                self._brought.update(found)
            self.files += found
            paths = [numbers[0] if (numbers := numbered(file)) else file for file in found]
            self.named += [(path if found == [name] else name, path) for path in paths]
        self._brought.difference_update(names)

    def pass_over(self, file: str, error: CaptureError) -> bool:
        """Take note that a file cannot be read; return whether that is no more than a note, as nobody named it."""
        if file in self._brought:
            self.skipped.append(f"{file}: {error.problem}")
        return file in self._brought


def passed_over(files: Sequence[str]) -> str:
    """Return a line on files that were passed over, each given with the reason; "" for none. It is not escaped."""
    if not files:
        return ""
    more = f"; and {count(len(files) - NAMED, 'more file')}" if len(files) > NAMED else ""
    return f"skipped {'; '.join(files[:NAMED])}{more}"


def holds_tables(source: str) -> bool:
    """Return whether the source is a folder of a pipeline's tables, or any URL; other folders hold captures."""
    from pathlib import Path

    if "://" in source or not Path(source).is_dir():
        return "://" in source
    from ...views.tables.columns import RUNS, STATE

    return (Path(source) / RUNS / "_delta_log").is_dir() or (Path(source) / STATE).is_file()


def read_captures(
    sources: Sequence[str], filters: Filters, read: Read, exchanges: Callable[[], int]
) -> tuple[list[str], bool]:
    """Have captures read one after the other, and say which cannot be; `exchanges` counts those read so far.

    Return the names of those that were read, and whether all were that the user named.
    """
    from ...capture.names import named_files

    found, progress, names = InputFiles(sources), Progress(), list[str]()
    progress.exchanges = exchanges
    named = {path: file.name for (_, path), file in zip(found.named, named_files(found.named), strict=True)}
    with progress.through(found.files):
        for source in found.files:
            try:
                name, wanted = chosen(source, filters)
                with open_capture(name) as capture:
                    progress.begin(capture.source)
                    read(capture, wanted, named.get(capture.name, ""))
                    names.append(capture.name)
            except CaptureError as error:
                if not found.pass_over(source, error):
                    found.refused.append(error)
            finally:
                progress.end()
    for line in (*map(str, found.refused), passed_over(found.skipped)):
        if line:
            say(line)
    return names, not found.refused


class Progress:
    """Draws how many bytes of the files are read, how fast, how long it will take, and how many exchanges there were.

    `through` gives the files, `begin` and `end` stand around each of them, `exchanges` counts those so far. Nothing is
    drawn, nor costs anything, where stderr is no terminal.
    """

    exchanges: Callable[[], int] = staticmethod(lambda: 0)

    def __init__(self, writer: Writer | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._clock = clock
        self._source: Source | None = None
        self._shown = False
        self._files = self._file = self._done = 0
        self._total: int | None = None
        self._start = self._next = NEVER
        if self._watched and writer is not None and sys.stdout.isatty():
            writer.before = self.postpone

    def hide(self) -> None:
        """Draw nothing from now on."""
        self.clear()
        self._watched = False

    @contextmanager
    def through(self, files: Sequence[str]) -> Iterator[None]:
        """Make a context in which these files are read; nothing is left on the terminal after it."""
        if not self._watched:
            yield
            return
        sizes = [_size(file) for file in files]
        known = [size for size in sizes if size is not None]
        self._total = sum(known) if len(known) == len(sizes) else None
        self._files, self._start = len(files), self._clock()
        self._next = self._start + PATIENCE
        try:
            yield
        finally:
            self.clear()
            self._next = NEVER

    def begin(self, source: Source) -> None:
        """Follow the reading of a file from now on."""
        if self._watched:
            self._file += 1
            self._source, source.feed.heard = source, self.tick

    def end(self) -> None:
        """Take the file for read, whatever was read of it."""
        if self._source is not None:
            taken, size = self._source.extent()
            self._done += taken if size is None else size
            self._source = None

    def tick(self) -> None:
        """Draw the line if it is time to; called with every piece of a file that is read."""
        now = self._clock()
        if now < self._next or self._source is None:
            return
        self._next = now + EVERY
        text, columns = self._text(now - self._start, self._done + self._source.extent()[0]), 0
        with suppress(OSError):
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        self._draw(f"{ERASE}{text[: (columns or 80) - 1]}\r")
        self._shown = True

    def clear(self) -> None:
        """Take the line away, if it is there."""
        if self._shown:
            self._shown = False
            self._draw(ERASE)

    def postpone(self) -> None:
        """Take the line away for a while: something is printed on the terminal."""
        self.clear()
        if self._next != NEVER:
            self._next = self._clock() + PATIENCE

    def _draw(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _text(self, seconds: float, done: int) -> str:
        rate, total = done / seconds if seconds else 0.0, self._total
        if total is None:
            parts = [f"{amount(done)} read"]
        else:
            parts = [f"{min(100 * done // max(total, 1), 100)} %", f"{amount(done)} of {amount(total)}"]
        parts.append(f"{amount(rate)}/s")
        if total is not None and rate:
            parts.append(f"{duration(max(total - done, 0) / rate)} left")
        parts.append(count(self.exchanges(), "exchange"))
        if self._files > 1:
            parts.append(f"file {self._file:,} of {self._files:,}")
        return " · ".join(parts)


def amount(size: float) -> str:
    """Return a number of bytes in a unit that fits, as `12.3 MB`."""
    if size < 1000:
        return count(round(size), "byte")
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5 or unit == "TB":
            break
    return f"{size:.0f} {unit}" if size >= 99.95 else f"{size:.1f} {unit}"


def duration(seconds: float) -> str:
    """Return how long something takes, as `40 s`, `2 min 10 s` or `1 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _size(file: str) -> int | None:
    """Return how many bytes a file has; None for a pipe, and for one that is not there."""
    import stat

    numbers = numbered(file)
    try:
        found = os.fstat(0) if file == "-" else os.stat(numbers[0] if numbers else file)  # noqa: PTH116 - pathlib takes 3 ms to import
    except OSError:
        return 0 if file != "-" else None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def until_interrupted(blocks: Iterator[Any], interrupt: Callable[[], None]) -> Iterator[Any]:
    """Yield packets up to Ctrl-C, which is heard only while some are waited for: none is left half done."""
    import signal

    hear = getattr(signal, "pthread_sigmask", lambda how, signals: None)  # where that is missing, none are held back
    try:
        while True:
            hear(signal.SIG_UNBLOCK, {signal.SIGINT})
            try:
                packets = next(blocks)
            except StopIteration:
                return
            hear(signal.SIG_BLOCK, {signal.SIGINT})
            yield packets
    except KeyboardInterrupt:
        interrupt()
    finally:
        hear(signal.SIG_UNBLOCK, {signal.SIGINT})


class FindingCounts(Counter[str]):
    """Counts findings by kind."""

    def note(self, finding: Finding) -> None:
        """Count a finding."""
        self[finding.kind] += 1

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Count what is odd in exchanges, read no further than for that."""
        for exchange in exchanges:
            for finding in findings_of(exchange):
                self.note(finding)


def findings_of(exchange: Exchange) -> Sequence[Finding]:
    """Return what is odd in an exchange; its messages are read no further than for that."""
    if exchange.is_sound(shallow=True) or (not exchange.findings and exchange.facts() is not None):
        return ()
    return exchange.all_findings(shallow=True)


def connection_lines(found: Iterable[tuple[Peers, Finding]]) -> Iterator[str]:
    """Yield a line for each finding on connections: once for all of a broker's that it is true of.

    Of connections that are not decrypted for the same reason the first one's cipher suite stands for those of all.
    """
    same: dict[tuple[str, Encrypted | str], list[tuple[str, Finding]]] = {}
    for peers, finding in found:
        facts = finding.facts
        alike = facts._replace(version="", cipher="") if isinstance(facts, Encrypted) else str(finding)
        same.setdefault((endpoint(peers.broker), alike), []).append((endpoint(peers.client), finding))
    for (broker, _), alike_ones in same.items():
        client, finding = alike_ones[0]
        more = f" (and {count(len(alike_ones) - 1, 'more connection')})" if len(alike_ones) > 1 else ""
        yield f"{client} → {broker}{more}: {escape(str(finding))}"


def finding_parts(kinds: Counter[str]) -> list[str]:
    """Return the parts of a closing line on findings: requests without a response, then all others by their kinds."""
    others = +kinds
    unanswered = others.pop(Kind.NO_RESPONSE, 0)
    ordered = sorted(others.items(), key=lambda found: (-found[1], str(found[0])))
    listed = ", ".join(f"{kind} {many:,}" for kind, many in ordered)
    found = count(others.total(), "finding") + (f" ({listed})" if listed else "")
    return [count(unanswered, "missing response"), found]


def closing_parts(
    counts: Counter[str], kinds: Counter[str], captures: int, more: Sequence[str] = (), selected: str = "shown"
) -> list[str]:
    """Return the parts of a closing line on what was read, `more` of other things than captures, shown and found.

    `selected` is the word for exchanges that the filters select.
    """
    read = ["packet", "line"] if counts["packets"] and counts["lines"] else ["line" if counts["lines"] else "packet"]
    parts = [count(counts[noun + "s"], noun) for noun in (*read, "connection", "exchange") if captures]
    parts += more
    if counts["shown"] < counts["exchanges"] + counts["pieces"]:
        parts.append(f"{counts['shown']:,} {selected}")
    parts += finding_parts(kinds)[not captures :]
    if counts["others"]:
        parts.append(f"{count(counts['others'], 'connection')} not decoded")
    return parts + [f"{count(counts[noun], 'packet')} {lost}" for noun, lost in LOST.items() if counts[noun]]
