"""A view and a filter that are added at run time, one entry each, are found wherever views and filters are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kdbg.errors import InputError
from kdbg.exchanges.filters.filter import Reads
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.filters.table import FILTERS, Options
from kdbg.views.render.views import VIEWS, view

from .cases import for_each

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
FIRST, ERRORS = CAPTURES / "first-contact.pcap", CAPTURES / "errors.pcap"
SEGMENT = CAPTURES / "real-segments-4.4.0" / "money-0" / "00000000000000000000.log"
ADDED = """
import sys
from kdbg.exchanges.filters.filter import Filter, Reads, ValueForm
from kdbg.exchanges.filters.table import FILTERS
from kdbg.views.render.views import VIEWS, View

FILTERS["shortest"] = Filter(
    ValueForm.COUNT, "Only exchanges of so many bytes.", Reads.HEADERS,
    lambda least, topics: lambda one: one.size >= least,
)
VIEWS["count"] = View(
    "how many bytes", lambda look, topics: lambda exchange: f"{exchange.number} {exchange.size}\\n",
    header=lambda look, time: "number size\\n",
    explained=lambda data, piece, look: (f"{len(data)} bytes\\n", True),
)
"""


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ADDED + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def kdbg(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run("from kdbg.ui.cli import main\nmain()", *arguments)


class TestAView:
    def test_decode_shows_it(self) -> None:
        lines = kdbg("decode", FIRST, "-f", "count", "--limit", 2).stdout.splitlines()
        assert lines == ["number size", "1 86", "2 176"]
        assert "tree|summary|hex|json|count" in kdbg("decode", "--help").stdout

    def test_explain_shows_it(self) -> None:
        assert kdbg("explain", "00000016000300010000000200046b6462670000000100", "-f", "count").stdout == "23 bytes\n"

    def test_send_offers_it(self) -> None:
        assert "count" in kdbg("send", "metadata", "--help").stdout

    def test_a_file_it_does_not_show_is_refused_in_a_line(self) -> None:
        done = kdbg("decode", SEGMENT, "-f", "count")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("a log segment, which this format cannot show; choose another --format\n")

    def test_an_unknown_one_is_never_taken_for_another(self) -> None:
        with pytest.raises(InputError, match="unknown view 'jsno'; did you mean json"):
            view("jsno")
        done = kdbg("decode", FIRST, "-f", "xml")
        assert done.returncode == 2
        assert "xml" in done.stderr


class TestAFilter:
    def test_decode_filters_by_it(self) -> None:
        done = kdbg("decode", FIRST, "-f", "json", "--shortest", 200)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found
        assert all(one["request"]["size"] + one["response"]["size"] >= 200 for one in found)
        assert len(kdbg("decode", FIRST, "-f", "json").stdout.splitlines()) > len(found)

    def test_the_library_filters_by_it(self) -> None:
        script = "import kdbg\nprint(min(one.size for one in kdbg.read(sys.argv[1], shortest=200)))"
        assert int(run(script, FIRST).stdout) >= 200

    @pytest.mark.parametrize("command", ["report", "pipeline"])
    def test_reports_and_pipelines_offer_it(self, command: str) -> None:
        assert "--shortest" in kdbg(command, "--help").stdout

    def test_a_file_that_cannot_be_asked_is_refused(self) -> None:
        done = kdbg("decode", SEGMENT, "--shortest", 5)
        assert done.returncode == 2
        assert "--shortest cannot filter a log segment" in done.stderr

    def test_a_data_frame_of_captures_takes_it(self) -> None:
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
        script = "from kdbg.scale.spark.source import SourceOptions\n"
        script += "print(SourceOptions.of({'path': 'x', 'shortest': '7'}).filters.given)"
        assert run(script).stdout == "{'shortest': 7}\n"


class TestEveryFilter:
    @for_each("name", FILTERS)
    def test_it_is_offered_by_decode_and_where_it_means_something_by_the_pipeline(self, name: str) -> None:
        from click.testing import CliRunner

        from kdbg.ui.cli import commands

        option = f"--{name.replace('_', '-')}"
        assert option in CliRunner().invoke(commands, ["decode", "--help"]).output
        assert option in CliRunner().invoke(commands, ["report", "--help"]).output
        assert (option in CliRunner().invoke(commands, ["pipeline", "--help"]).output) is FILTERS[name].archives

    def test_each_has_a_type_of_its_own(self) -> None:
        assert FILTERS.keys() == Options.__annotations__.keys()

    @for_each("name", FILTERS)
    def test_it_asks_exchanges_unless_it_reads_nothing(self, name: str) -> None:
        assert FILTERS[name].asks is not (FILTERS[name].reads is Reads.NOTHING)

    def test_what_says_nothing_is_left_out(self) -> None:
        assert not Filters(api=(), errors=False, topic=[])
        assert Filters(limit=0), "a limit of nothing is one"
        assert Filters(api="fetch") == Filters(api=["fetch"]) != Filters(api="produce")

    @for_each(
        ("given", "problem"),
        [
            ({"port": 0}, "invalid value 0 of port"),
            ({"connection": "one"}, "invalid value 'one' of connection"),
            ({"connection": True}, "invalid value True of connection"),
            ({"limit": -1}, "invalid value -1 of limit"),
            ({"topic": 1.5}, "invalid value 1.5 of topic"),
            ({"slower_than": "soon"}, "invalid value 'soon' of slower_than: expected a number of milliseconds"),
            ({"since": "noon"}, "invalid value 'noon' of since"),
            ({"client": "a"}, "unknown filter 'client'; did you mean client_id"),
        ],
    )
    def test_a_wrong_value_is_refused(self, given: dict[str, object], problem: str) -> None:
        with pytest.raises(InputError, match=problem):
            Filters(**given)  # type: ignore[arg-type]

    def test_filters_do_not_change(self) -> None:
        filters = Filters(api="fetch")
        with pytest.raises(AttributeError):
            filters.api = "produce"
        assert filters.but(limit=3).given == {"api": frozenset({"fetch"}), "limit": 3}
        assert filters.given == {"api": frozenset({"fetch"})}

    def test_they_go_to_other_processes(self) -> None:
        import pickle

        filters = Filters(api="fetch", since=5.0, limit=3)
        assert pickle.loads(pickle.dumps(filters)) == filters


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_says_what_it_shows(name: str) -> None:
    assert view(name).about
    assert view(name).exchange
