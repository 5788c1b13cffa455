"""Does a message end where its length says?"""

from __future__ import annotations

import pytest

from kdbg.exchanges.engine.requests import CLOSE_LOOK, excess_of, extent, fits, may_fit
from kdbg.exchanges.messages.message import opaque_api, read
from kdbg.protocol.grammars import by_key
from kdbg.protocol.wire import Api, Dialect, Int16, Int32, Int64, Struct

from ..cases import for_each
from .playbook import request, response

METADATA = by_key(3)
MESSAGE = request(5)[4:]


@pytest.mark.parametrize("more", [b"", b"x", b"\0" * 500])
def test_extent_is_where_the_grammar_ends(more: bytes) -> None:
    assert extent(METADATA, 1, "request", MESSAGE + more) == len(MESSAGE)


@for_each("end", range(len(MESSAGE)))
def test_a_message_that_breaks_off_has_no_extent(end: int) -> None:
    assert extent(METADATA, 1, "request", MESSAGE[:end]) is None


def test_the_form_that_fits_exactly_is_taken() -> None:
    """Brokers refuse an ApiVersions request of an unknown version in the form of version 0 (KIP-511)."""
    refusal = response(5, "ApiVersions", 0, error_code=35)[4:]
    assert extent(by_key(18), 3, "response", refusal) == len(refusal)
    assert fits(by_key(18), 3, "response", refusal)


def test_a_form_that_a_body_cannot_have_is_passed_over() -> None:
    refusal = Dialect("response", range(1), "an error alone", Struct("error_code" / Int16), unless=("error_code", 0))
    longer = Dialect("response", range(1), "a longer one", Struct("error_code" / Int32))
    layout = Struct("error_code" / Int16, "node_id" / Int64)
    own = Api(31999, "Own", Struct(), layout, versions=range(1), dialects=(refusal, longer))
    assert extent(own, 0, "response", bytes(4) + b"\0\1") == 6
    assert extent(own, 0, "response", bytes(4) + b"\0\0") is None
    assert extent(own, 0, "response", bytes(4) + b"\0\0\0\0") == 8


def test_fits() -> None:
    assert fits(METADATA, 1, "request", MESSAGE)
    assert not fits(METADATA, 1, "request", MESSAGE + b"x")
    assert not fits(METADATA, 1, "request", MESSAGE[:-1])
    assert not fits(METADATA, 99, "request", MESSAGE), "nobody knows"
    assert not fits(opaque_api(31999), 0, "request", MESSAGE)


def test_may_fit() -> None:
    assert may_fit(METADATA, 1, "request", MESSAGE)
    assert may_fit(METADATA, 1, "request", MESSAGE + b"x")
    assert not may_fit(METADATA, 1, "request", MESSAGE[:-1])
    assert may_fit(METADATA, 99, "request", MESSAGE), "who knows"
    assert not may_fit(METADATA, 1, "request", MESSAGE + bytes(CLOSE_LOOK))


def test_excess() -> None:
    for version, data, left in ((1, MESSAGE, 0), (1, MESSAGE + b"x" * 7, 7), (1, MESSAGE[:-1], 0), (99, MESSAGE, 0)):
        assert excess_of(read(METADATA, version, "request", data, shallow=True)) == left
