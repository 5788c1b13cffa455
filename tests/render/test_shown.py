"""What was read, as text, in any view."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

import kdbg
from kdbg import decode
from kdbg.errors import InputError
from kdbg.views.render.style import Look
from kdbg.views.render.text import html, render
from kdbg.views.render.views import VIEWS, view

from ..traffic import Talk, pcap


def message(data: bytes = b"s3cret") -> kdbg.Message:
    given = kdbg.encode({"auth_bytes": data}, api="sasl-authenticate", version=0, direction="request")
    return kdbg.decode(given, api="sasl-authenticate", version=0, direction="request", header=False)


@pytest.mark.parametrize("format", VIEWS)
def test_an_exchange_in_each_view(format: str) -> None:
    talk = Talk().ask("Metadata", 1, topics=[{"name": "orders"}]).answer()
    (exchange,) = kdbg.read(io.BytesIO(pcap(talk)))
    drawn = view(format).exchange(Look(width=100, long_lines=True), {})(exchange)
    assert render(exchange, format) == (drawn.decode() if isinstance(drawn, bytes) else drawn)
    assert ("\x1b" in render(exchange, format, color=True)) is (format in ("tree", "hex"))


def test_a_message_is_a_tree_or_json_with_its_secrets_hidden_unless_they_are_wanted() -> None:
    assert render(message()).splitlines() == [
        "SaslAuthenticate request v0", "└── auth_bytes  <6 bytes redacted>",
    ]  # fmt: skip
    assert render(message(), show_secrets=True).endswith("auth_bytes  6 bytes  73 33 63 72 65 74\n")
    assert render(message(), "json") == '{"auth_bytes":{"redacted":6,"hidden":6}}\n'
    assert render(message(), "json", show_secrets=True) == '{"auth_bytes":{"base64":"czNjcmV0"}}\n'


def test_a_message_is_shortened_to_a_width_if_it_need_not_be_whole() -> None:
    long = message(b"x" * 500)
    assert "more" not in render(long, show_secrets=True)
    narrow, wide = (render(long, show_secrets=True, full=False, width=width) for width in (80, 200))
    assert len(narrow) < len(wide) < len(render(long, show_secrets=True))
    assert "more" in wide


def test_a_message_is_a_hexdump_that_counts_from_its_first_byte() -> None:
    """With and without its header; secrets are redacted there, too."""
    data = b"\0\x0c\0\0\0\0\0\7\xff\xff" + b"\0\1g" + bytes(4) + b"\0\1m"
    whole = decode(data, api="heartbeat", version=0, direction="request")
    body = decode(data[10:], api="heartbeat", version=0, direction="request", header=False)
    starts = [[line[:4] for line in render(each, "hex").splitlines()] for each in (whole, body)]
    assert starts == [["0000", "0002", "0004", "0008", "000a", "000d", "0011"], ["0000", "0003", "0007"]]
    assert "73 33" not in render(message(), "hex")
    assert "00 00 00 06 73 33 63 72" in render(message(), "hex", show_secrets=True)


def test_what_a_view_does_not_show_is_refused() -> None:
    with pytest.raises(InputError, match="'summary' shows exchanges, not single messages; use tree, hex, json"):
        render(message(), "summary")
    with pytest.raises(InputError, match="no hexdump of this SaslAuthenticate request: its bytes are not known"):
        render(replace(message(), data=None), "hex")


def test_what_has_a_text_of_its_own_gives_it() -> None:
    class Entry:
        def text(self, format: str = "tree", *, look: Look | None = None) -> str:
            return f"{format} {look}"

    assert render(Entry(), "summary", width=70) == f"summary {Look(width=70, long_lines=True)}"
    assert render(Entry()) == f"tree {Look(width=100, long_lines=True)}"


def test_for_a_notebook_what_was_captured_is_no_markup() -> None:
    assert html("<b> & 'c'\n") == "<pre>&lt;b&gt; &amp; &#x27;c&#x27;\n</pre>"
