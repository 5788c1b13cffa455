"""What adding.md says is all that a stranger does: each of its tasks, in a copy of the project whose tests then pass.

No test may know a registry by heart. Views, filters and keys of the screen are added at run time in test_registries.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kdbg.ui.guide import section

from .brokers.pool import needed
from .conftest import SHARED
from .guide.blocks import blocks

MAIN = Path(__file__).resolve().parents[1]
EVERY_API = (
    "tests/cli/test_apis.py", "tests/cli/test_coverage.py", "tests/cli/test_grammar.py", "tests/client/test_routes.py",
    "tests/definitions/test_against_kafka.py", "tests/grammars/test_form.py", "tests/grammars/test_layouts.py",
    "tests/grammars/test_meanings.py", "tests/grammars/test_registry.py", "tests/grammars/test_releases.py",
    "tests/grammars/test_serving.py", "tests/test_evidence.py", "tests/test_packages.py",
)  # fmt: skip
"""The tests that look at all of the registry."""
EVERY_VERSION = ("tests/grammars/test_every_version.py", "tests/grammars/test_dialects.py", "tests/render/test_tree.py")
"""Those that try every version; of these, the ones of one API are run."""

NEW_FIELD = '    "new_field" / Since(14, Int32) * "what this test made up",\n'


def block(heading: str, number: int = 0) -> str:
    """The text block of this number, from 0, below a heading of the page."""
    text = section("adding", heading)
    assert text is not None
    return [one.text for one in blocks(text) if one.language == "text"][number]


class Checkout:
    """A copy of the project, to change and to run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copy"
        for name in ("kdbg", "tests"):
            shutil.copytree(MAIN / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("captures", "pyproject.toml", "README.md", "LICENSE"):
            (self.folder / name).symlink_to(MAIN / name)
        if SHARED.is_dir():
            (folder / "shared").symlink_to(SHARED)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self.environment = kept | {"PYTHONPATH": str(self.folder)}

    def change(self, file: str, *changes: tuple[str, str]) -> None:
        """Put one text in the place of another that stands in the file once; a file is named from the top."""
        path = self.folder / file
        text = path.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path.write_text(text)

    def python(self, *arguments: str, stdin: str = "") -> str:
        """What a command of this copy prints, which must end well."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def kdbg(self, *arguments: str, stdin: str = "") -> str:
        return self.python("-m", "kdbg", *arguments, stdin=stdin)

    def objects(self, *arguments: str) -> list[Any]:
        return [json.loads(line) for line in self.kdbg(*arguments, "--format", "json").splitlines()]

    def encoded(self, api: str, version: int, body: dict[str, Any]) -> str:
        """A request with its header, in hex."""
        header, fields = json.dumps({"correlation_id": 7}), json.dumps(body)
        return self.kdbg("encode", api, "--version", str(version), "--header", header, "--body", fields).strip()

    def tests(self, *arguments: str) -> None:
        """Run tests of this copy; they must all pass."""
        said = self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        assert " passed" in said


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    assert made.python("-c", "import kdbg; print(kdbg.__file__)").startswith(str(made.folder))
    return made


def add_version(checkout: Checkout) -> None:
    """Metadata v14, in its grammar file alone: a field, and the number of versions."""
    last = '    "include_topic_authorized_operations" / '
    checkout.change(
        "kdbg/protocol/grammars/metadata.py", (last, NEW_FIELD + last), ("versions=range(14)", "versions=range(15)")
    )


def add_api(checkout: Checkout) -> None:
    """A grammar file, its name in the registry, and another name."""
    (checkout.folder / "kdbg" / "protocol" / "grammars" / "beacon.py").write_text(block("An API"))
    last, other = '94: "UnregisterController",\n', '74: ("ListClientMetricsResources",),\n'
    name, alias = block("An API", 1).splitlines()
    checkout.change("kdbg/protocol/grammars/__init__.py", (last, f"{last}{name}\n"), (other, f"{other}{alias}\n"))


def add_command(checkout: Checkout) -> None:
    """A file, a line of its group, and what tests of all commands need to know of it."""
    (checkout.folder / "kdbg" / "ui" / "cli" / "busiest.py").write_text(block("A command"))
    diff = '        "diff": '
    checkout.change("kdbg/ui/cli/__init__.py", (diff, block("A command", 1) + diff))
    checkout.change("tests/cli/traits.py", ('    "diff": ', '    "busiest": Traits(counts=True),\n    "diff": '))
    checkout.change("tests/cli/test_closing.py", ('    "stats": ', '    "busiest": ("busiest", "IN"),\n    "stats": '))
    call = '        yield "stats", path\n'
    checkout.change("tests/cli/test_secrets_anywhere.py", (call, call + call.replace("stats", "busiest")))
    row = '    Row("stats", (CAPTURE,), MESSAGES),\n'
    checkout.change("tests/cli/test_imports.py", (row, row + '    Row("busiest", (CAPTURE,), MESSAGES),\n'))


def add_view(checkout: Checkout) -> None:
    """An entry."""
    json = '    "json": View('
    checkout.change("kdbg/views/render/views.py", (json, block("A view") + json))


def add_filter(checkout: Checkout) -> None:
    """A line of the options, and the function that makes its check."""
    last, options = "\n\nFILTERS: dict", "class Plain("
    checkout.change(
        "kdbg/exchanges/filters/table.py",
        (last, block("A filter") + last), (options, f"{block('A filter', 1)}\n\n{options}"),
    )  # fmt: skip


def add_documented_filter(checkout: Checkout) -> None:
    add_filter(checkout)
    asked = '"pid": os.getpid(),'
    checkout.change("tests/filters/test_everywhere.py", (asked, f'{asked} "shortest": 90,'))
    checkout.python("-m", "tests.guide", "filters")


def add_finding(checkout: Checkout) -> None:
    """A kind with its section, reported where responses are paired."""
    kind = '    MIDSTREAM = "midstream"'
    long = '    LONG_CLIENT_ID = "long-client-id", "the client id is longer than usual", _NOTE\n'
    checkout.change("kdbg/protocol/findings/__init__.py", (kind, long + kind))
    heading = "### midstream\n"
    text = "### long-client-id\n\n*Note.* The client id is longer than usual.\n\n"
    text += "**Cause:** a program makes it of many parts.\n\n**What to do:** nothing.\n\n"
    checkout.change("kdbg/ui/guide/findings.md", (heading, text + heading))
    checkout.change(
        "kdbg/exchanges/engine/pairing.py",
        (
            "        note_rejection(exchange)\n        self._hand_over(exchange)\n\n    def _hold",
            "        if len(exchange.client_id or '') > 4:\n"
            "            exchange.findings.append(Finding(Kind.LONG_CLIENT_ID, 'request'))\n"
            "        note_rejection(exchange)\n        self._hand_over(exchange)\n\n    def _hold",
        ),
    )
    checkout.python("-m", "tests.guide", "findings")


def add_cause(checkout: Checkout) -> None:
    """A rule, its code, and its incident, which is staged with a broker."""
    topics, imports = "kdbg/analysis/diagnosis/rules/topics.py", "from ..case import"
    checkout.change(topics, (imports, f"from ..queries import by_error\n{imports}"))
    with (checkout.folder / topics).open("a") as file:
        file.write(f"\n\n{block('A cause')}")
    ours = "OURS: Final[dict[str, str]] = {\n"
    checkout.change("tests/incidents/codes.py", (ours, ours + block("A cause", 1)))
    made, table = block("A cause", 2).split("…\n")
    checkout.change(
        "tests/incidents/scenarios/producing.py",
        ("\nINCIDENTS", f"\n{made}\n\nINCIDENTS"), ("INCIDENTS = (\n", f"INCIDENTS = (\n{table}"),
    )  # fmt: skip
    checkout.python("-m", "tests.guide", "causes")
    checkout.python("-m", "tests.incidents", "invalid-replication-factor")


def test_a_new_version_is_one_line_to_every_command(checkout: Checkout) -> None:
    add_version(checkout)
    data = checkout.encoded("metadata", 14, {"topics": None, "new_field": 7})
    (request, response) = checkout.objects("grammar", "metadata", "--version", "14")
    assert [field["about"] for field in request["fields"] if field["path"] == "new_field"] == ["what this test made up"]
    assert response["bnf"].startswith("Metadata Response (Version: 14)")
    assert "v14  request   + new_field\n     response  = v13" in checkout.kdbg("grammar", "metadata")
    explained = checkout.kdbg("explain", data)
    assert "new_field" in explained
    assert '"metadata.new_field","int32","what this test made up"' in checkout.kdbg("wireshark", "--print")
    schema = [one for one in checkout.objects("grammar", "--all") if one.get("api") == "Metadata"]
    assert (schema[0]["max_version"], schema[-1]["version"]) == (14, 14)
    assert "new_field" in [field["name"] for field in schema[-2]["fields"]]
    assert " bytes decoded" in explained
    newest = checkout.objects("coverage", "metadata")[-1]
    assert (newest["api_version"], newest["since"], newest["request"], newest["brokers"]) == (14, None, [], [])
    assert "14  unreleased" in checkout.kdbg("coverage", "metadata")


@pytest.mark.nightly
def test_a_new_version_leaves_every_test_green(checkout: Checkout) -> None:
    add_version(checkout)
    checkout.tests(*EVERY_API)
    checkout.tests(*EVERY_VERSION, "-k", "Metadata or every_api_in_every_version or registry_has")


def test_a_new_api_is_one_file_and_one_line_to_every_command(checkout: Checkout) -> None:
    add_api(checkout)
    for name in ("beacon", "lighthouse", "200"):
        explained = checkout.kdbg("explain", checkout.encoded(name, 1, {"name": "north", "brightness": 800}))
        assert "brightness" in explained
        assert " bytes decoded" in explained
    assert '"beacon.brightness","int32","in lumen"' in checkout.kdbg("wireshark", "--print")
    assert checkout.kdbg("grammar", "beacon").startswith("Beacon (key 200): the brightness of a beacon.")
    assert [found["since"] for found in checkout.objects("coverage", "beacon")] == [None, None]
    listed = checkout.kdbg("apis").splitlines()
    assert listed[-1].split() == ["200", "Beacon", "0-1", "from", "1", "Lighthouse"]
    assert "did you mean" not in checkout.kdbg("grammar", "unregister-controller"), "its neighbour stays what it was"


@pytest.mark.nightly
def test_a_new_api_leaves_every_test_green(checkout: Checkout) -> None:
    add_api(checkout)
    checkout.tests(*EVERY_API)
    checkout.tests(*EVERY_VERSION, "-k", "Beacon or every_api_in_every_version or registry_has")


@pytest.mark.nightly
def test_the_command_that_dates_versions_says_what_it_cannot_find_out(checkout: Checkout) -> None:
    add_version(checkout)
    before = {
        path.name: path.read_text() for path in (checkout.folder / "kdbg/protocol/grammars/generated").glob("*.json")
    }
    command = [sys.executable, "-m", "tests.evidence"]
    done = subprocess.run(
        command, cwd=checkout.folder, env=checkout.environment, capture_output=True, text=True, check=True
    )
    assert "Metadata 14: in no release that was looked at" in done.stderr
    assert "not asked, so left as it was: java" in done.stderr
    after = {name: (checkout.folder / "kdbg/protocol/grammars/generated" / name).read_text() for name in before}
    assert after == before, "what no source knows is not made up, and what was known stays"


def test_a_new_command_runs_and_is_listed(checkout: Checkout) -> None:
    add_command(checkout)
    assert checkout.kdbg("busiest", "captures/first-contact.pcap", "--api", "produce") == "3 shop\n"
    assert "  busiest     Count the exchanges of each client.\n" in checkout.kdbg("--help")


def test_a_new_view_and_a_new_filter_are_offered(checkout: Checkout) -> None:
    add_view(checkout)
    add_filter(checkout)
    shown = ("decode", "captures/first-contact.pcap", "-f", "count", "--shortest")
    assert checkout.kdbg(*shown, "150", "--limit", "1") == "2 176\n"


def test_a_new_finding_is_shown_counted_and_explained(checkout: Checkout) -> None:
    add_finding(checkout)
    page = checkout.folder / "kdbg" / "ui" / "guide" / "findings.md"
    assert "| [`long-client-id`](#long-client-id) | note | the client id is longer than usual |" in page.read_text()
    assert "makes it of many parts" in checkout.kdbg("explain", "long-client-id")
    where = "'long-client-id' in findings.map(f, f.kind)"
    shown = checkout.objects("decode", "captures/first-contact.pcap", "--where", where)
    assert {one["client_id"] for one in shown} == {"billing-1"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("add", "tests"),
    [
        (add_command, ("tests/cli", "tests/guide", "tests/words", "tests/test_budget.py", "tests/test_packages.py")),
        (add_view, ("tests/cli", "tests/guide", "tests/render", "tests/test_registries.py", "tests/words")),
        (
            add_documented_filter,
            ("tests/cli", "tests/filters", "tests/guide", "tests/test_registries.py", "tests/words"),
        ),
        (add_finding, ("tests/findings", "tests/test_findings.py", "tests/guide", "tests/words", "tests/cli")),
        (add_cause, ("tests/diagnosis", "tests/incidents", "tests/guide", "tests/words", "tests/cli")),
    ],
    ids=lambda given: given.__name__ if callable(given) else "",
)
def test_what_is_new_leaves_every_test_of_what_it_touches_green(
    add: Callable[[Checkout], None], tests: tuple[str, ...], checkout: Checkout
) -> None:
    with needed() if add is add_cause else nullcontext():
        add(checkout)
    checkout.tests(*tests)
