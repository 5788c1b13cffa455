"""`FILE#N`: one exchange of a capture, by the number that every view shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kdbg

from .calls import call

ERRORS = Path(kdbg.__file__).resolve().parents[1] / "captures" / "errors.pcap"


def numbers(*arguments: object) -> list[int]:
    lines = call("decode", *arguments, "-f", "summary").out.splitlines()[1:]
    return [int(line.split()[0]) for line in lines]


def test_decode_shows_it() -> None:
    assert numbers(f"{ERRORS}#17") == [17]
    assert numbers(f"{ERRORS}#17-19") == [17, 18, 19]
    assert call("decode", f"{ERRORS}#17").out == call("decode", ERRORS, "--exchange", 17).out


def test_it_is_what_the_whole_has() -> None:
    whole = call("decode", ERRORS, "-f", "json").out.splitlines()
    assert call("decode", f"{ERRORS}#20", "-f", "json").out.splitlines() == whole[19:20]


def test_no_more_is_read_than_it_needs() -> None:
    assert "17 exchanges · 1 shown" in call("decode", f"{ERRORS}#17", "-f", "summary").err


def test_each_file_has_its_own() -> None:
    done = call("decode", f"{ERRORS}#3", f"{ERRORS}#1", "-f", "summary").out.splitlines()
    assert [int(line.split()[0]) for line in done if line[:5].strip().isdecimal()] == [3, 1]


def test_the_library_takes_it() -> None:
    assert [one.number for one in kdbg.read(f"{ERRORS}#17")] == [17]
    assert [one.number for one in kdbg.read(ERRORS, exchange="17-18")] == [17, 18]


def test_report_takes_it(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    assert call("report", f"{ERRORS}#17", "-o", tmp_path / "page.html").status in (0, 1)


def test_a_file_of_that_name_is_that_file(tmp_path: Path) -> None:
    odd = tmp_path / "errors#17"
    shutil.copy(ERRORS, odd)
    assert len(numbers(odd)) == 58


def test_what_contradicts_itself_is_refused() -> None:
    done = call("decode", f"{ERRORS}#17", "--exchange", 3)
    assert (done.status, done.out) == (2, "")
    assert "#N cannot be combined with --exchange; omit one of them" in done.err


def test_pipelines_say_why_not(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    done = call("pipeline", f"{ERRORS}#17", "--out", tmp_path / "tables")
    assert done.status == 2
    assert "archives have no exchange numbers" in done.err
