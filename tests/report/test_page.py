"""The page as a file: whole, alone, and safe whatever the traffic says."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from kdbg.report.page import MARK
from tests.traffic import forms

from .scripted import ESCAPES, HOSTILE, SECRET

LARGEST = 2_000_000


class Reader(HTMLParser):
    """What a browser would find: texts of cells, tags with their attributes, scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.inside, []).append(data)


def test_the_page_stands_alone(written: Path) -> None:
    assert written.read_bytes().startswith(MARK)
    assert written.stat().st_size < LARGEST
    reader = Reader(written.read_text())
    for tag, attributes in reader.tags:
        assert tag not in ("link", "img", "iframe", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    [policy] = [found["content"] for tag, found in reader.tags if "http-equiv" in found]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy.partition("script-src")[2]


def test_hostile_names_are_texts(written: Path) -> None:
    reader = Reader(written.read_text())
    assert len([tag for tag, _ in reader.tags if tag == "script"]) == 3
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    cells = reader.texts["td"]
    assert HOSTILE in cells
    assert ESCAPES in cells


def test_hostile_names_are_no_markup_in_charts(written: Path) -> None:
    """Plotly reads some HTML in names: none of the figures' texts has any, but for what kdbg itself put there."""
    [data] = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', written.read_text(), re.DOTALL)
    assert not set("<>&'") & set(data)
    texts = re.findall(r"<[^>]*>", json.dumps(json.loads(data)))
    assert set(texts) <= {"<br>", "<extra>", "</extra>"}


def test_passwords_are_not_on_the_page(written: Path) -> None:
    page = written.read_bytes()
    assert not [form for form in forms(SECRET) if form in page]
