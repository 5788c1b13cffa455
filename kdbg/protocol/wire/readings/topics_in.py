"""Which topics a message is about, by name or id, without a look into records: a generated reading (see codegen.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..nodes import Node, UuidNode, WireStruct
from .codegen import CodeGenerator

TopicsReader = Callable[[bytes, "list[str | bytes]"], None]


@cache
def topics_in(header: Node, body: WireStruct) -> TopicsReader:
    """Return a function that adds the names and the ids of topics in a message, as 16 bytes, to a list.

    It raises one of `UNREADABLE` where it cannot read on; then the list has those in front of that place.
    """
    return TopicsIn().function(header, body)


class TopicsIn(CodeGenerator):
    """Writes a function that gathers topics, and passes over all else."""

    def function(self, header: Node, body: WireStruct) -> TopicsReader:
        """Return the function for messages of this header and body."""
        self.read(header, 1)
        self.read(body, 1)
        self.flush(1)
        return self.define("topics(data, found, pos=0)", "None")  # type: ignore[no-any-return]

    def leaf(self, node: Node, depth: int) -> str:
        if node.kind not in ("topic", "topic_id"):
            return super().leaf(node, depth)
        topic = self.take("16s", self.fresh()) if isinstance(node, UuidNode) else self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"found.append({topic})")
        return ""
