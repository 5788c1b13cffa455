"""The wheel and the source distribution contain what they must, and each installs and runs in an empty environment.

CI installs kdbg as the README says, which builds the wheel; what is in it and in the other is for the night.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from kdbg import __version__
from kdbg.ui.guide import topics

from .blocks import TOP, blocks
from .dashboards import dashboards

PACKAGED = ("kdbg", "captures", "tests", ".readme", "pyproject.toml", "README.md", "LICENSE")
FIRST = "kdbg decode captures/first-contact.pcap --limit 3"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the wheel and the source distribution from a copy of the checkout."""
    pytest.importorskip("hatchling", reason="hatchling, which builds both, is not installed")
    copy = tmp_path_factory.mktemp("checkout")
    for name in PACKAGED:
        if (TOP / name).is_dir():
            shutil.copytree(TOP / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        else:
            shutil.copy(TOP / name, copy)
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=copy, check=True, capture_output=True)
    (wheel,), (sdist,) = (list((copy / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    return {"wheel": wheel, "sdist": sdist}


@pytest.mark.nightly
def test_every_topic_is_in_the_wheel(distributions: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(distributions["wheel"]).namelist())
    assert {f"kdbg/ui/guide/{name}.md" for name in (*topics(), "README")} <= names
    assert {f"kdbg/ui/guide/dashboards/{path.name}" for path in dashboards()} <= names


@pytest.mark.nightly
def test_the_source_distribution_has_what_the_readme_needs(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {".readme/decode.svg", "captures/first-contact.pcap", "tests/__main__.py", "LICENSE"} <= names


def test_the_readme_s_first_command_is_the_one_tested_here() -> None:
    first, *_ = [block for block in blocks((TOP / "README.md").read_text(encoding="utf-8")) if block.language == "sh"]
    assert first.text.rstrip().endswith(f".venv/bin/{FIRST}")


@pytest.mark.nightly
def test_the_wheel_alone_runs_the_first_command(distributions: dict[str, Path], tmp_path: Path) -> None:
    """With what kdbg needs from where the tests have it."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "installed", distributions["wheel"]], check=True, capture_output=True)
    (tmp_path / "captures").symlink_to(TOP / "captures")
    runs(tmp_path / "installed" / "bin", tmp_path, PYTHONPATH=str(tmp_path / "installed"))


@pytest.mark.nightly  # downloads what kdbg needs
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_installs_in_an_empty_environment_and_runs_the_first_command(
    kind: str, distributions: dict[str, Path], tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    installed = subprocess.run(
        [programs / "pip", "install", "--quiet", "--disable-pip-version-check", distributions[kind]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if any(hint in installed.stderr for hint in ("Failed to establish a new connection", "No matching distribution")):
        pytest.skip("pip cannot reach a package index")
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "captures").symlink_to(TOP / "captures")
    runs(programs, tmp_path)


def runs(programs: Path, folder: Path, **environment: str) -> None:
    """Assert that the installed program does what it did from the checkout."""

    def said(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [programs / "kdbg", *arguments]
        return subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)

    ran = said(*FIRST.split()[1:])
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("#1 ApiVersions v3")
    assert "3 exchanges" in ran.stderr
    assert said("--version").stdout == f"kdbg {__version__}\n"
    assert said("guide", "tutorial").stdout.startswith("# Tutorial")
