"""All that reads foreign bytes, an entry each: what is run, what it begins with, and the code that it must get to.

To add one, add an entry to `TARGETS`. `reaches` are files and folders of kdbg: a test runs the seeds and sees whether
code of each was run, and another whether every room that reads foreign bytes is reached by somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from . import readers, seeds
from .watch import SECONDS, Run


class Target(NamedTuple):
    """One reader of foreign bytes: `run` takes an input of at most `longest` bytes; `short` inputs make a short run.

    `seconds` are those of CPU time that an input may take.
    """

    run: Run
    seeds: Callable[[], Iterable[bytes]]
    reaches: tuple[str, ...]
    longest: int = 8192
    short: int = 60
    seconds: float = SECONDS


SEVEN = 7 * SECONDS
"""Of what decodes an input seven times: in each view, for two commands, and for a table."""
TARGETS: dict[str, Target] = {
    "pcap": Target(readers.capture, seeds.pcaps, ("capture/pcap.py", "capture/__init__.py")),
    "pcapng": Target(readers.capture, seeds.pcapngs, ("capture/pcapng.py",)),
    "places": Target(readers.places, seeds.pcaps, ("exchanges/multipoint",), short=6),
    "gzip": Target(readers.capture, seeds.gzipped, ("capture/source.py",)),
    "zstd": Target(readers.capture, seeds.zstandards, ("capture/source.py",)),
    "packets": Target(
        readers.packets,
        seeds.packets,
        (
            "capture/links.py",
            "capture/tunnels.py",
            "capture/links.py",
            "streams/tcp/table.py",
            "streams/tcp/stream.py",
        ),
        short=30,
    ),
    "connections": Target(
        readers.connection,
        seeds.talks,
        (
            "streams/tcp/stream.py",
            "exchanges/engine/classifier.py",
            "exchanges/engine/framing.py",
            "exchanges/engine/pairing.py",
            "exchanges/engine/search.py",
        ),
    ),
    "views": Target(
        readers.views,
        seeds.pcaps,
        ("views/render", "analysis/stats", "views/tables", "exchanges/messages", "payloads/records"),
        short=5,
        seconds=SEVEN,
    ),
    "diagnosis": Target(
        readers.diagnosed, seeds.pcaps, ("analysis/diagnosis", "analysis/ledgers", "streams/tcp/paths.py"), short=10
    ),
    "signals": Target(readers.signals, seeds.pcaps, ("scale/signals/traces.py", "scale/signals/metrics.py"), short=6),
    "redact": Target(readers.redacted, seeds.pcaps, ("views/redact",), short=6),
    "messages": Target(
        readers.message,
        seeds.messages,
        ("protocol/wire/readings/annotate.py", "views/render/tree", "views/tables/straight.py"),
    ),
    "payloads": Target(
        readers.payload, seeds.payloads, ("protocol/wire/readings/annotate.py", "protocol/wire/language/payload.py")
    ),
    "record sets": Target(
        readers.record_set, seeds.record_sets, ("protocol/wire/records/sets.py", "protocol/wire/records/spans.py")
    ),
    "compressed": Target(readers.compressed, seeds.compressed, ("protocol/wire/records/compression.py",)),
    "definitions": Target(
        readers.definition, seeds.definitions, ("protocol/definitions/parse.py", "protocol/definitions/text.py")
    ),
    "pasted": Target(readers.pasted, seeds.texts, ("analysis/pasted", "exchanges/guess"), longest=4096, short=8),
    "bytes": Target(
        readers.explained,
        seeds.whole_messages,
        ("exchanges/guess", "exchanges/mistakes"),
        longest=4096,
        short=10,
        seconds=3 * SECONDS,  # each of some 2,600 layouts is weighed where none fits
    ),
    "tls": Target(
        readers.tls,
        seeds.tls,
        ("streams/tls/cutter.py", "streams/tls/hello.py", "streams/tls/side.py", "exchanges/engine/engine.py"),
    ),
    "preambles": Target(
        readers.tls, seeds.preambles, ("exchanges/engine/foreign.py", "exchanges/engine/classifier.py")
    ),
    "key logs": Target(readers.key_log, seeds.key_logs, ("capture/keylog.py",)),
    "logs": Target(readers.log, seeds.logs, ("analysis/logs",), longest=4096),
    "where": Target(readers.where, seeds.expressions, ("exchanges/filters/where",), longest=1024),
    "segments": Target(readers.segment, seeds.segments, ("payloads/segments",)),
    "values": Target(readers.value, seeds.values, ("payloads/values",)),
}
