"""No error and no finding is folded away or cut: what JSON has stands in a terminal's tree and in a piped summary."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.messages.rejection import went_wrong
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look
from kdbg.views.render.views import view

from ..cases import by_day

MAIN = Path(__file__).resolve().parents[2]
SHARED = MAIN.parent / "shared"
CAPTURES = [
    *sorted((MAIN / "captures").glob("*.pcap*")),
    *sorted(path for path in (SHARED / "captures").rglob("*.pcap*") if "bomb" not in path.name),  # they take minutes
    *sorted((SHARED / "incidents").glob("*.pcap*")),
]


@pytest.mark.parametrize("path", by_day(CAPTURES, 3), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_error_and_finding_of_the_json_is_on_the_screen_and_in_the_summary(path: Path) -> None:
    topics: dict[UUID, str] = {}
    tree = view("tree").exchange(Look(width=80, full=False, compact=True), topics)
    failures = view("tree").exchange(Look(width=80, full=False, compact=True, only_errors=True), topics)
    shallow = view("tree").exchange(Look(depth=1), topics)
    summary = view("summary").exchange(Look(), topics)
    for exchange in kdbg.read(path):
        found = json.loads(json_line(exchange, topics))
        names = {error["name"] for error in found["errors"]}
        kinds = {finding["kind"] for finding in found["findings"]}
        failed = [failures(exchange)] if went_wrong(exchange) else []
        for text in (tree(exchange), shallow(exchange), *failed):
            assert isinstance(text, bytes)
            assert not {word for word in names | kinds if word.encode() not in text}, text.decode()
        line = summary(exchange)
        seen = {finding.kind.value for finding in exchange.all_findings(shallow=True)}  # it looks into no records
        assert seen <= kinds
        assert isinstance(line, str)
        assert not {word for word in names | seen if word not in line}, line
