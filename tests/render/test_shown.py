"""What was read, as text, in any view."""

from __future__ import annotations

import io

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.render.look import Look
from kdbg.render.shown import html, render
from kdbg.render.views import VIEWS, view

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
        "SaslAuthenticate request v0", "└── auth_bytes  <6 bytes hidden>",
    ]  # fmt: skip
    assert render(message(), show_secrets=True).endswith("auth_bytes  6 bytes  73 33 63 72 65 74\n")
    assert render(message(), "json") == '{"auth_bytes":{"hidden":6}}\n'
    assert render(message(), "json", show_secrets=True) == '{"auth_bytes":{"base64":"czNjcmV0"}}\n'


def test_a_message_is_shortened_to_a_width_if_it_need_not_be_whole() -> None:
    long = message(b"x" * 500)
    assert "more" not in render(long, show_secrets=True)
    narrow, wide = (render(long, show_secrets=True, full=False, width=width) for width in (80, 200))
    assert len(narrow) < len(wide) < len(render(long, show_secrets=True))
    assert "more" in wide


@pytest.mark.parametrize("format", ["summary", "hex"])
def test_a_message_has_no_other_view(format: str) -> None:
    with pytest.raises(InputError, match=f"a message has no view '{format}'; there are tree and json"):
        render(message(), format)


def test_what_has_a_text_of_its_own_gives_it() -> None:
    class Entry:
        def text(self, format: str = "tree", *, look: Look | None = None) -> str:
            return f"{format} {look}"

    assert render(Entry(), "summary", width=70) == f"summary {Look(width=70, long_lines=True)}"
    assert render(Entry()) == f"tree {Look(width=100, long_lines=True)}"


def test_for_a_notebook_what_was_captured_is_no_markup() -> None:
    assert html("<b> & 'c'\n") == "<pre>&lt;b&gt; &amp; &#x27;c&#x27;\n</pre>"
