"""The BNF that kdbg prints against that of Kafka's own guides: of 0.10.1 (72 blocks) and of 0.8 (19 blocks).

What is compared is the layout, the sequence and nesting of types; names may be today's. The two guides knew less of
nulls than today's definitions do, and that is the only licence given, word by word, in MAY_STAND_FOR.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars import headers, offset_commit, records
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.protocol.wire.readings.layout import bnf

from ..cases import for_each
from ..facts import guide
from .guide import Layout, Production, blocks, layout

MAY_STAND_FOR = {
    "STRING": ("STRING", "NULLABLE_STRING"),
    "BYTES": ("BYTES", "NULLABLE_BYTES", "NULLABLE_RECORDS"),
}
"""A guide's word, and what is today known to stand there.

The 0.8 guide has no word for what may be null (its text says that a length of -1 is null), and neither guide has one
for record sets. Everything else must be the very same word.
"""
EARLIER_NULLS = {"CreateTopics Request (Version: 0)"}
"""Blocks of the 0.10.1 guide, which has NULLABLE_STRING, where a STRING is today's NULLABLE_STRING.

CreateTopics: the value of a topic's configuration key.
"""
SCOPE = dict[str, Production]


def printed(struct: WireStruct) -> Layout:
    """The layout in the text that kdbg prints."""
    (block,) = blocks(bnf("Printed", struct))
    return layout(block)


def agrees(guide: Layout, ours: Layout, words: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a layout of the guide is ours, word for word."""
    return len(guide) == len(ours) and all(
        isinstance(mine, list) and agrees(theirs, mine, words)
        if isinstance(theirs, list)
        else mine in words.get(theirs, (theirs,))
        for theirs, mine in zip(guide, ours, strict=True)
    )


@pytest.fixture(scope="module")
def later() -> SCOPE:
    found = blocks(guide("0.10.1"))
    by_name = {block.name: block for block in found}
    assert len(by_name) == len(found) == 72
    return by_name


@pytest.fixture(scope="module")
def early() -> SCOPE:
    found = blocks(guide("0.8"))
    by_name = {block.name: block for block in found}
    assert len(by_name) == len(found) == 19
    response = by_name["OffsetCommitResponse"]
    assert response.words[-3:] == ["]", "]", "]"], "a slip of the guide: three brackets close, two were opened"
    return by_name | {"OffsetCommitResponse": replace(response, words=response.words[:-1])}


@pytest.fixture(scope="module")
def defined(early: SCOPE) -> SCOPE:
    """What is defined anywhere in the guide; a message set is one word here, for it has blocks of its own."""
    everywhere = {name: found for block in early.values() for name, found in block.inner.items()}
    return everywhere | {"MessageSet": Production("MessageSet", ["MESSAGE_SET"], 0)}


class TestGuideOf0_10_1:
    """72 blocks: two headers and 70 messages."""

    def test_every_message_is_printed_as_the_guide_has_it(self, later: SCOPE) -> None:
        compared = []
        for name, block in later.items():
            title = re.fullmatch(r"(\w+) (Request|Response) \(Version: (\d+)\)", name)
            if title is None:
                continue
            struct = grammars.api(title[1]).at(title[2].lower(), int(title[3]))  # type: ignore[arg-type]
            words = {"BYTES": MAY_STAND_FOR["BYTES"]} | (MAY_STAND_FOR if name in EARLIER_NULLS else {})
            assert agrees(layout(block), printed(struct), words), name
            compared.append(name)
        assert set(later) - set(compared) == {"Request Header", "Response Header"}
        assert len(compared) == 70

    def test_the_headers_are_printed_as_the_guide_has_them(self, later: SCOPE) -> None:
        assert printed(headers.REQUEST[1]) == layout(later["Request Header"])
        assert printed(headers.RESPONSE[0]) == layout(later["Response Header"])

    def test_bytes_stand_for_record_sets_in_produce_and_fetch_alone(self, later: SCOPE) -> None:
        apis = set()
        for name, block in later.items():
            title = re.fullmatch(r"(\w+) (Request|Response) \(Version: (\d+)\)", name)
            if title is not None:
                struct = grammars.api(title[1]).at(title[2].lower(), int(title[3]))  # type: ignore[arg-type]
                if not agrees(layout(block), printed(struct), {"STRING": MAY_STAND_FOR["STRING"]}):
                    apis.add((title[1], title[2]))
        assert apis == {("Produce", "Request"), ("Fetch", "Response")}

    def test_every_earlier_null_is_one(self, later: SCOPE) -> None:
        for name in EARLIER_NULLS:
            api, direction, version = name.replace("(Version: ", "").rstrip(")").split()
            struct = grammars.api(api).at(direction.lower(), int(version))  # type: ignore[arg-type]
            assert not agrees(layout(later[name]), printed(struct), {})


MESSAGES_OF_0_8 = (
    "MetadataRequest", "MetadataResponse", "ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse",
    "OffsetRequest", "OffsetResponse", "ConsumerMetadataRequest", "ConsumerMetadataResponse",
    "OffsetCommitResponse", "OffsetFetchRequest", "OffsetFetchResponse",
)  # fmt: skip
"""Those that version 0 of today's grammars agrees with; OffsetCommitRequest has tests of its own."""
OTHER_BLOCKS_OF_0_8 = (
    "RequestOrResponse", "RequestMessage", "Response", "MessageSet", "Message", "OffsetCommitRequest",
)  # fmt: skip


class TestGuideOf0_8:
    """19 blocks. A name that a block does not define is defined in another one."""

    def test_no_block_is_passed_over(self, early: SCOPE) -> None:
        assert sorted(early) == sorted(MESSAGES_OF_0_8 + OTHER_BLOCKS_OF_0_8)

    @for_each("name", MESSAGES_OF_0_8)
    def test_version_0_is_printed_as_the_guide_has_it(self, name: str, early: SCOPE, defined: SCOPE) -> None:
        direction = "request" if name.endswith("Request") else "response"
        theirs = sized_message_sets(layout(early[name], defined))
        assert agrees(theirs, printed(grammars.api(name).at(direction, 0)), MAY_STAND_FOR)  # type: ignore[arg-type]

    def test_offset_commit_is_the_dialect_with_a_time_stamp(self, early: SCOPE, defined: SCOPE) -> None:
        """The guide shows TimeStamp in version 0; Kafka's own definition has it in version 1 alone.

        So version 0 is Kafka's, and the guide's form is a dialect of it, tried where version 0 does not fit the bytes.
        """
        theirs = layout(early["OffsetCommitRequest"], defined)
        ((form, dialect),) = grammars.api("OffsetCommit").dialects_of("request", 0)
        assert list(dialect.keys) == list(offset_commit.guide_request.structure(At(0, False)).keys)
        assert agrees(theirs, printed(dialect), MAY_STAND_FOR)
        assert "0.8 guide" in form.name
        ours = printed(grammars.api("OffsetCommit").at("request", 0))
        assert not agrees(theirs, ours, MAY_STAND_FOR)
        assert theirs == ["STRING", ["STRING", ["INT32", "INT64", "INT64", "STRING"]]]
        assert ours == ["STRING", ["STRING", ["INT32", "INT64", "NULLABLE_STRING"]]], "no INT64 for the time stamp"

    def test_frames_begin_with_their_size(self, early: SCOPE, defined: SCOPE) -> None:
        block = early["RequestOrResponse"]
        assert block.words == ["Size", "RequestMessage", "|", "ResponseMessage"]
        assert layout(replace(block, words=["Size"]), defined) == ["INT32"]

    def test_the_request_header_is_version_1(self, early: SCOPE) -> None:
        *header, body = early["RequestMessage"].words
        theirs = layout(replace(early["RequestMessage"], words=header))
        assert body == "RequestMessage"
        assert agrees(theirs, printed(headers.REQUEST[1]), MAY_STAND_FOR)
        bodies = [word for word in early["RequestMessage"].inner[body].words if word != "|"]
        assert bodies == [
            f"{name}Request" for name in ("Metadata", "Produce", "Fetch", "Offset", "OffsetCommit", "OffsetFetch")
        ]

    def test_the_response_header_is_version_0(self, early: SCOPE) -> None:
        *header, body = early["Response"].words
        assert body == "ResponseMessage"
        assert printed(headers.RESPONSE[0]) == layout(replace(early["Response"], words=header))

    def test_a_message_is_the_one_of_magic_0(self, early: SCOPE) -> None:
        assert agrees(layout(early["Message"]), printed(records.record_format.messages[0]), MAY_STAND_FOR)

    def test_a_message_set_is_offset_size_and_message(self, early: SCOPE) -> None:
        (theirs,) = layout(early["MessageSet"], {"Message": early["Message"]})
        entry = records.message_set.at(At(0, False)).item
        assert isinstance(entry, WireStruct)
        assert agrees(theirs, printed(entry), MAY_STAND_FOR)
        assert theirs[:2] == ["INT64", "INT32"], "offset and size"


def sized_message_sets(guide: Layout) -> Layout:
    """`MessageSetSize MessageSet` are one BYTES, a length and what it measures; the size must be an INT32."""
    found: Layout = []
    for item in guide:
        if item == "MESSAGE_SET":
            assert found.pop() == "INT32"
            found.append("BYTES")
        else:
            found.append(sized_message_sets(item) if isinstance(item, list) else item)
    return found


class TestReadingOfGuides:
    """The parser above is what the agreement hangs on."""

    def test_arrays_and_groups(self) -> None:
        (block,) = blocks(
            "A => b [c] d\n  b => INT8\n  c => e f\n    e => STRING\n    f => INT16\n  d => g\n    g => UUID\n"
        )
        assert layout(block) == ["INT8", ["STRING", "INT16"], "UUID"]

    def test_the_nearest_definition_counts(self) -> None:
        (block,) = blocks("A => x [y]\n  x => INT8\n  y => x z\n    x => INT64\n    z => x\n")
        assert layout(block) == ["INT8", ["INT64", "INT64"]]

    def test_an_unclosed_bracket_is_refused(self) -> None:
        (block,) = blocks("A => [b\n  b => INT8\n")
        with pytest.raises(AssertionError, match="missing"):
            layout(block)

    def test_one_word_is_not_another(self) -> None:
        assert not agrees(["STRING"], ["BYTES"], MAY_STAND_FOR)
        assert not agrees(["NULLABLE_STRING"], ["STRING"], MAY_STAND_FOR)
        assert not agrees([["INT8"]], ["INT8"], MAY_STAND_FOR)
        assert not agrees(["INT8"], ["INT8", "INT8"], MAY_STAND_FOR)
