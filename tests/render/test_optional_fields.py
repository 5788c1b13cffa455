"""Messages with optional fields in front (the draft of KIP-482), broken anywhere: every view still draws them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kdbg.exchanges.messages.message import read
from kdbg.protocol.wire import Int8, Int16, String
from kdbg.protocol.wire.language import Api
from kdbg.protocol.wire.language.types import Array, Nullable, Optional, Struct
from kdbg.protocol.wire.nodes import TAGGED, build
from kdbg.views.render.hex.hexdump import hexdump
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree

RESPONSE = Struct(
    "agent" / Optional(1, Nullable(String)),
    "items" / Array("name" / Optional(2, String), "a" / Int16, "b" / Optional(3, Int8), "c" / Int8),
    "inner" / Nullable(Struct("x" / Int8, "y" / Optional(1, Int8))),
)
API = Api(9000, "Foo", Struct(), RESPONSE, versions=range(1), optional=range(1))
BODY = {
    "agent": "me",
    "items": [{"name": "n", "a": 1, "b": 2, "c": 3}, {"a": 4, "c": 5}, {"b": 6, "a": 7, "c": 8, TAGGED: {9: b"\1"}}],
    "inner": {"x": 1, "y": 2},
}
DATA = build(API.at("response", 0), BODY)


def test_they_stand_in_front_of_their_structure() -> None:
    assert drawn(DATA).splitlines() == [
        "body",
        '├── agent  "me"',
        "├── items  3 elements",
        "│   ├── [0]",
        '│   │   ├── name  "n"',
        "│   │   ├── b  2",
        "│   │   ├── a  1",
        "│   │   └── c  3",
        "│   ├── [1]",
        "│   │   ├── a  4",
        "│   │   └── c  5",
        "│   └── [2]",
        "│       ├── b  6",
        "│       ├── a  7",
        "│       ├── c  8",
        "│       └── tagged_fields",
        "│           └── tag 9  1 byte  01",
        "└── inner",
        "    ├── y  2",
        "    └── x  1",
    ]


def drawn(data: bytes) -> str:
    message = read(API, 0, "response", data, header=False)
    tree = Tree(Look(), {})
    tree.struct(message.grammar)(message.open_body, "body", "")
    assert bool(hexdump(data, API, 0, "response", Look(), {}, header=False)) == bool(data)
    return tree.take()


def test_every_beginning_of_a_message_is_drawn() -> None:
    """One optional field more and one plain field less is as many keys as none of either."""
    for end in range(len(DATA) + 1):
        assert drawn(DATA[:end]).startswith("body")


@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_messages_are_drawn(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for place, byte in changes:
        data[place] = byte
    assert drawn(bytes(data)).startswith("body")
