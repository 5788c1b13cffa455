"""Which bytes may hold secrets though nothing says what they are: for messages and records that damage made unreadable.

What is read cleanly says by its grammar which of its fields are secret. Bytes that nobody can read are looked at for
what stands beside secrets: words of settings and of SASL, and the records of the KRaft log.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire.nodes import Node
from ...protocol.wire.nodes.children import contains
from ...protocol.wire.readings.topic_names import ALWAYS
from ...protocol.wire.records.node import RecordsNode

WORDS: Final = re.compile(
    rb"passw|passp|pwd|secret|jaas|credential|token|api.?key|private|keystore|truststore|connection.string|oauth|bearer"
    rb"|c=[bey][a-z0-9+/=]*,r=|r=[^,\0]+,s=",
    re.IGNORECASE,
)
"""What stands beside secrets: in names of settings, in JAAS configurations, in tokens of SCRAM and OAUTHBEARER."""
FRAME: Final = re.compile(rb"\x01[\0-\x1d][\0-\4]", re.DOTALL)
"""How the value of a record of the KRaft log begins: the version of its frame, its kind, the version of that."""
FRAMES: Final = re.compile(rb"\x01(?:[\x02-\x7e]|[\x80-\xff][\0-\x7f])" + FRAME.pattern, re.DOTALL)
"""The same behind a key that is null and the length of the value."""
SECRETIVE: Final = tuple(
    name
    for topic, kinds in TOPICS.items()
    if kinds.secret
    for name in (topic.encode(), *(known.bytes for known, at in ALWAYS.items() if at == topic))
)
"""Names and ids of topics whose records hold secrets, as they stand in messages."""


def may_hold_secrets(data: bytes, grammar: Node | None = None) -> bool:
    """Return whether bytes that could not be read may hold secrets; `grammar` is what they were read by in vain.

    Words in records say nothing: those are shown where they can be read, too, but for the KRaft log's.
    """
    if grammar is None or not has_records(grammar):
        return WORDS.search(data) is not None
    return any(name in data for name in SECRETIVE) or FRAMES.search(data) is not None


def is_metadata(data: bytes) -> bool:
    """Return whether records of the KRaft log seem to stand in bytes that could not be read."""
    return FRAMES.search(data) is not None or WORDS.search(data) is not None


@cache
def has_records(grammar: Node) -> bool:
    return contains(grammar, lambda node: isinstance(node, RecordsNode))
