"""What a stranger does first: a new version of an API is one line, a new API one file and one line of the registry.

Each is done in a copy of the project, and the tests of that copy are run: none of them may know the registry by heart.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..conftest import SHARED

MAIN = Path(__file__).resolve().parents[2]
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
BEACON = '''"""Beacon (key 200): how bright a beacon shall be.

Made up by a test.
"""

from typing import Final

from ..wire import Api, Array, ErrorCode, Int32, Since, String, Struct

request: Final = Struct(
    "name" / String * "name of the beacon",
    "brightness" / Since(1, Int32) * "in lumen",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "rooms" / Array(
        "room" / String * "where it can be seen",
    ) * "the rooms with more light",
)
api: Final = Api(200, "Beacon", request, response, versions=range(2), flexible=1)
'''
LINE = '    Entry(200, "Beacon", ("Lighthouse",)),\n'


class Checkout:
    """A copy of the project, to change and to run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copy"
        for name in ("kdbg", "tests"):
            shutil.copytree(MAIN / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("captures", "pyproject.toml"):
            (self.folder / name).symlink_to(MAIN / name)
        if SHARED.is_dir():
            (folder / "shared").symlink_to(SHARED)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self.environment = kept | {"PYTHONPATH": str(self.folder)}

    def change(self, file: str, *changes: tuple[str, str]) -> None:
        """Put one text in the place of another that stands in the file once."""
        path = self.folder / "kdbg" / "protocol" / "grammars" / file
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
    checkout.change("metadata.py", (last, NEW_FIELD + last), ("versions=range(14)", "versions=range(15)"))


def add_api(checkout: Checkout) -> None:
    """A grammar file, and its line in the registry."""
    (checkout.folder / "kdbg" / "protocol" / "grammars" / "beacon.py").write_text(BEACON)
    checkout.change("registry.py", ("))\nKEYS", f"{LINE}))\nKEYS"))


def test_a_new_version_is_one_line_to_every_command(checkout: Checkout) -> None:
    add_version(checkout)
    data = checkout.encoded("metadata", 14, {"topics": None, "new_field": 7})
    (request, response) = checkout.objects("grammar", "metadata", "--version", "14")
    assert [field["about"] for field in request["fields"] if field["path"] == "new_field"] == ["what this test made up"]
    assert response["bnf"].startswith("Metadata Response (Version: 14)")
    assert "v14  request   + new_field\n     response  = v13" in checkout.kdbg("grammar", "metadata")
    explained = checkout.kdbg("explain", data)
    assert "new_field" in explained
    assert " bytes decoded" in explained
    newest = checkout.objects("coverage", "metadata")[-1]
    assert (newest["api_version"], newest["since"], newest["request"], newest["brokers"]) == (14, None, [], [])
    assert "14  unreleased" in checkout.kdbg("coverage", "metadata")


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
    assert checkout.kdbg("grammar", "beacon").startswith("Beacon (key 200): how bright a beacon shall be.")
    assert [found["since"] for found in checkout.objects("coverage", "beacon")] == [None, None]
    listed = checkout.kdbg("apis").splitlines()
    assert listed[-1].split() == ["200", "Beacon", "0-1", "from", "1", "Lighthouse"]
    assert "did you mean" not in checkout.kdbg("grammar", "unregister-controller"), "its neighbour stays what it was"


def test_a_new_api_leaves_every_test_green(checkout: Checkout) -> None:
    add_api(checkout)
    checkout.tests(*EVERY_API)
    checkout.tests(*EVERY_VERSION, "-k", "Beacon or every_api_in_every_version or registry_has")


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
