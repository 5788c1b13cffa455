"""Grammars to be printed: which there are, and what their notes say."""

from __future__ import annotations

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.wire import Int8, Struct, Tag
from kdbg.protocol.wire.language.types import At
from kdbg.views.render.grammar import FLEXIBLE, OPTIONAL, frame_sheets, header_sheets, message_sheet, message_sheets


def test_the_frame_and_what_is_in_it() -> None:
    assert [(sheet.title, sheet.version, sheet.direction) for sheet in frame_sheets()] == [
        ("RequestOrResponse", 0, ""), ("RequestMessage", 0, "request"), ("ResponseMessage", 0, "response"),
    ]  # fmt: skip
    assert [sheet.notes for sheet in frame_sheets()[1:]] == [
        ("Other headers: kdbg grammar header --request",), ("Other headers: kdbg grammar header --response",),
    ]  # fmt: skip
    assert len(frame_sheets()[0].notes) == 3


def test_the_headers() -> None:
    assert [(sheet.title, sheet.version, sheet.direction, len(sheet.notes)) for sheet in header_sheets()] == [
        ("Request Header (Version: 0)", 0, "request", 1),
        ("Request Header (Version: 1)", 1, "request", 0),
        ("Request Header (Version: 2)", 2, "request", 1),
        ("Response Header (Version: 0)", 0, "response", 0),
        ("Response Header (Version: 1)", 1, "response", 1),
    ]


@pytest.mark.parametrize(
    ("at", "notes"), [(At(0, False), ()), (At(0, True), (FLEXIBLE,)), (At(0, False, optional=True), (OPTIONAL,))]
)
def test_how_a_version_is_written(at: At, notes: tuple[str, ...]) -> None:
    sheet = message_sheet("Lamp", 0, Struct("watts" / Int8, "note" / Tag(0, Int8)).structure(at))
    assert (sheet.title, sheet.direction, sheet.notes) == ("Lamp (Version: 0)", "", notes)


def test_a_message_names_the_header_in_front_of_it() -> None:
    request, response = message_sheets(grammars.api("Metadata"), 9)
    assert (request.title, request.direction, request.header_version) == ("Metadata Request (Version: 9)", "request", 2)
    assert request.notes == ("Follows request header v2: kdbg grammar header --version 2 --request", FLEXIBLE)
    assert (response.title, response.direction, response.header_version) == (
        "Metadata Response (Version: 9)", "response", 1,
    )  # fmt: skip
