"""`kdbg report` as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kdbg.extras import install

from .calls import CAPTURES, call

SOUND = CAPTURES / "real-2.8.2.pcap"
MARK = "<!doctype html>\n<!-- kdbg report -->"
WITHOUT_JINJA = """
import sys, importlib.util as util
found = util.find_spec
util.find_spec = lambda name, *more: None if name == "jinja2" else found(name, *more)
import kdbg.ui.cli
sys.exit(kdbg.ui.cli.run(sys.argv[1:]))
"""


def test_a_page_of_a_capture(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = call("report", SOUND, "-o", page)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert page.read_text().startswith(MARK)
    assert list(tmp_path.iterdir()) == [page]


def test_stdout_takes_a_page_too() -> None:
    done = call("report", SOUND, "-o", "-", "--api", "metadata")
    assert done.status == 0
    assert done.out.startswith(MARK)
    assert ">Metadata<" in done.out
    assert ">Produce<" not in done.out


def test_what_could_not_be_decoded_is_on_the_page_and_in_the_status(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert call("report", CAPTURES / "errors.pcap", "-o", page).status == 1
    assert "1 trailing byte after the last field" in page.read_text()


def test_only_a_report_is_overwritten(tmp_path: Path) -> None:
    page = tmp_path / "thesis.html"
    page.write_text("<!doctype html> years of work")
    refused = call("report", SOUND, "-o", page)
    assert refused.status == 2
    assert "exists, and is not a kdbg report; use --force to overwrite it" in refused.err
    assert page.read_text() == "<!doctype html> years of work"
    assert call("report", SOUND, "-o", page, "--force").status == 0
    assert call("report", SOUND, "-o", page).status == 0


def test_a_capture_that_is_none_is_said_and_the_rest_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = call("report", tmp_path / "nowhere.pcap", SOUND, "-o", page)
    assert done.status == 2
    assert "nowhere.pcap" in done.err
    assert page.exists()
    assert call("report", tmp_path / "nowhere.pcap", "-o", tmp_path / "other.html").status == 2
    assert not (tmp_path / "other.html").exists()


def test_a_capture_without_kafka_makes_a_page_that_says_so() -> None:
    done = call("report", SOUND, "-o", "-", "--port", "1")
    assert done.status == 0
    assert "no Kafka exchange found" in done.out


def test_a_folder_goes_alone_and_unfiltered(tmp_path: Path) -> None:
    (tmp_path / "runs/_delta_log").mkdir(parents=True)
    assert "not both" in call("report", tmp_path, SOUND, "-o", "-").err
    assert "--api applies to captures" in call("report", tmp_path, "-o", "-", "--api", "fetch").err


def test_without_jinja_a_line_says_what_to_install() -> None:
    arguments = [sys.executable, "-c", WITHOUT_JINJA, "report", str(SOUND), "-o", "-"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"kdbg: kdbg report needs jinja2; {install('report')}\n"
