"""What the message itself explains, nobody else is blamed for: mistakes of clients, sent to a Kafka 4.4 and captured.

malformed/*.pcap: each a connection of a client that sends ApiVersions and then one wrong request; expect.tsv has what
must be named. malformed/valid/*.pcap: requests that are valid, and rejected.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kdbg.analysis.diagnosis import diagnose
from kdbg.protocol.findings import Severity
from kdbg.ui.cli import run
from tests.diagnosis.books import MAIN, book

STAGED = Path(__file__).parent / "malformed"
SHARED = MAIN.parent / "shared" / "cases" / "clientbugs"
NO_CAUSE = {"describegroups5-group-no+1"}
"""A guess about a request that the broker accepts: lint and the message say it, it is no cause."""
MALFORMED = {"malformed-request"}


def expected(folder: Path, prefix: str) -> list[tuple[Path, str]]:
    """The captures of a folder, each with a regular expression for what must be named."""
    lines = (folder / "expect.tsv").read_text().splitlines()
    return [(folder / f"{prefix}{name}.pcap", named) for name, named in (line.split("\t") for line in lines)]


def lines(capfdbinary: pytest.CaptureFixture[bytes], *command: str) -> list[dict[str, object]]:
    run([*command, "--format", "json"])
    return [json.loads(line) for line in capfdbinary.readouterr()[0].splitlines()]


@pytest.mark.parametrize("prefix", ["", "s-"], ids=["staged", "shared"])
def test_mistakes_are_named_in_findings_lint_and_causes(prefix: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = SHARED if prefix else STAGED
    if not folder.is_dir():
        pytest.skip("../shared/cases/clientbugs is not there")
    unnamed = set()
    for path, named in expected(folder, prefix):
        loud = [case.code for case in diagnose(book(path)) if case.severity is not Severity.NOTE]
        assert set(loud) <= MALFORMED, path.name
        found = [one for each in lines(capfdbinary, "decode", str(path)) for one in each["findings"]]  # type: ignore[attr-defined]
        said = {"findings": [one["text"] for one in found if one["kind"] == "encoding-mistake"]}
        said["lint"] = [
            str(one["text"]) for one in lines(capfdbinary, "lint", str(path)) if one["code"] == "encoding-mistake"
        ]
        causes = lines(capfdbinary, "diagnose", str(path))
        said["causes"] = [str(one["sentence"]) for one in causes if one["cause"] in MALFORMED]
        if path.stem in NO_CAUSE:
            del said["causes"]
        wrong = [where for where, texts in said.items() if not any(re.search(named, text, re.I) for text in texts)]
        if wrong:
            unnamed.add(path.stem.removeprefix(prefix))
    assert not unnamed


def test_who_rejects_a_valid_request_is_blamed_as_before() -> None:
    causes = {path.stem: [case.code for case in diagnose(book(path))] for path in sorted((STAGED / "valid").iterdir())}
    assert causes == {"well-no-key-compacted": ["invalid-record"], "well-no-login": ["client-without-sasl"]}


VIEWS = ("tree", "hex", "json", "summary")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_view_shows_a_mistake(jobs: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = str(STAGED / "produce11-crc32.pcap")
    for view in VIEWS:
        run(["decode", path, "--format", view, "--jobs", jobs])
        said = capfdbinary.readouterr()[0]
        assert (b"encoding-mistake" in said) or (view == "hex" and b"the CRC is" in said), view
    run(["stats", path])
    assert b"mistake 1" in capfdbinary.readouterr()[0]
    assert lines(capfdbinary, "decode", path, "--where", '"encoding-mistake" in finding_kinds')
