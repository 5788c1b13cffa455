"""The page as a file: whole, alone, and safe whatever the traffic says."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kdbg.views.report import page_data as moving_room
from kdbg.views.report.page import MARK, report
from kdbg.views.report.page_data import moving as moving_of
from tests.traffic import Talk, forms, pcap

from .conftest import Asking
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
    assert len([tag for tag, _ in reader.tags if tag == "script"]) == 5
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
    for data in (page, moving(page.decode())):
        assert not [form for form in forms(SECRET) if form in data]


def moving(page: str) -> bytes:
    """What the page's filters have, unpacked."""
    [data] = re.findall(r'id="moving">(.*?)</script>', page)
    return gzip.decompress(base64.b64decode(data))


def test_scripts_that_stand_compressed_in_the_page_run_by_their_hash(written: Path) -> None:
    page = written.read_text()
    [data] = re.findall(r'id="plotly">(.*?)</script>', page)
    digest = hashlib.sha256(gzip.decompress(base64.b64decode(data))).digest()
    assert f"'sha256-{base64.b64encode(digest).decode()}'" in page


def test_much_traffic_makes_no_large_page(asking: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more parts than the page has room for, fewer names are offered; at last there are no filters."""
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(*(one_of_many(number) for number in range(30))))
    ask = asking(path)
    found = moving_of(ask, report(ask))
    assert found is not None
    assert len(found["options"]["client"]) == 30
    monkeypatch.setattr(moving_room, "MOST_PARTS", 620)
    fewer = moving_of(ask, report(ask))
    assert fewer is not None
    assert fewer["options"] == {"client": ["c00", "c01", "c02", "c03", "c04", "others"], "api": ["Heartbeat"],
                                "broker": found["options"]["broker"], "topic": []}  # fmt: skip
    monkeypatch.setattr(moving_room, "MOST_PARTS", 10)
    assert moving_of(ask, report(ask)) is None


def one_of_many(number: int) -> Talk:
    talk = Talk(("10.0.0.1", 50_000 + number), client_id=f"c{number:02d}")
    for _ in range(40):
        talk.at += number
        talk.ask("Heartbeat", 0, group_id="g", member_id="m").answer()
    return talk.end()
