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
    "pcap": Target(readers.capture, seeds.pcaps, ("capture/pcap.py", "capture/everyday.py")),
    "pcapng": Target(readers.capture, seeds.pcapngs, ("capture/pcapng.py",)),
    "places": Target(readers.places, seeds.pcaps, ("places",), short=6),
    "gzip": Target(readers.capture, seeds.gzipped, ("capture/source.py",)),
    "zstd": Target(readers.capture, seeds.zstandards, ("capture/source.py",)),
    "packets": Target(
        readers.packets, seeds.packets,
        ("capture/links.py", "capture/tunnels.py", "capture/fragments.py", "tcp/table.py", "tcp/stream.py"), short=30,
    ),
    "connections": Target(
        readers.connection, seeds.talks,
        ("tcp/stream.py", "engine/classifier.py", "engine/framing.py", "engine/pairing.py", "engine/search.py"),
    ),
    "views": Target(
        readers.views, seeds.pcaps, ("render", "stats", "tables", "messages", "records"), short=5,
        seconds=SEVEN,
    ),
    "diagnosis": Target(readers.diagnosed, seeds.pcaps, ("diagnosis", "ledgers", "tcp/paths.py"), short=10),
    "signals": Target(readers.signals, seeds.pcaps, ("signals/traces.py", "signals/metrics.py"), short=6),
    "redact": Target(readers.redacted, seeds.pcaps, ("redact",), short=6),
    "messages": Target(
        readers.message, seeds.messages, ("wire/readings/spans.py", "render/drawn", "tables/straight.py"),
    ),
    "payloads": Target(readers.payload, seeds.payloads, ("wire/readings/spans.py", "wire/language/payload.py")),
    "record sets": Target(readers.record_set, seeds.record_sets, ("wire/records/sets.py", "wire/records/spans.py")),
    "compressed": Target(readers.compressed, seeds.compressed, ("wire/records/compression.py",)),
    "definitions": Target(readers.definition, seeds.definitions, ("definitions/reading.py", "definitions/text.py")),
    "pasted": Target(readers.pasted, seeds.texts, ("pasted", "guess"), longest=4096, short=8),
    "bytes": Target(readers.explained, seeds.whole_messages, ("guess", "mistakes"), longest=4096, short=10),
    "tls": Target(readers.tls, seeds.tls, ("tls/cutter.py", "tls/hello.py", "tls/side.py", "engine/tls.py")),
    "preambles": Target(readers.tls, seeds.preambles, ("engine/preambles.py", "engine/proxied.py")),
    "key logs": Target(readers.key_log, seeds.key_logs, ("capture/keylog.py",)),
    "logs": Target(readers.log, seeds.logs, ("logs",), longest=4096),
    "where": Target(readers.where, seeds.expressions, ("filters/where",), longest=1024),
    "segments": Target(readers.segment, seeds.segments, ("segments",)),
    "values": Target(readers.value, seeds.values, ("values",)),
}  # fmt: skip
