"""Files that are complete or not there: written beside their target, renamed to it at the end."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from kdbg.atomic import SUFFIX, AtomicFile
from kdbg.errors import WriteError

OLDER = b"the older file"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A file that is there before a command writes it, in a folder of its own."""
    path = tmp_path / "out" / "shared.pcap"
    path.parent.mkdir()
    path.write_bytes(OLDER)
    return path


@pytest.fixture(params=[False, True], ids=["new", "older"])
def target(request: pytest.FixtureRequest, older: Path) -> Path:
    """A file that is not there before, and one that is."""
    if not request.param:
        older.unlink()
    return older


def is_as_it_was(target: Path) -> bool:
    return target.read_bytes() == OLDER if target.exists() else True


def beside(target: Path) -> list[Path]:
    return [path for path in target.parent.iterdir() if path != target]


class TestFile:
    def test_it_takes_its_name_at_the_end(self, target: Path) -> None:
        with AtomicFile(target) as file:
            file.write(b"new")
            file.flush()
            assert Path(file.partial).read_bytes() == b"new"
            assert file.partial.endswith(SUFFIX)
            assert Path(file.partial).name.startswith("."), "folders of captures are read without hidden files"
            assert is_as_it_was(target)
        assert target.read_bytes() == b"new"
        assert beside(target) == []

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
    def test_nothing_is_left_of_one_that_failed(self, target: Path, error: type[BaseException]) -> None:
        was = target.exists()
        with pytest.raises(error), AtomicFile(target) as file:
            file.write(b"new")
            raise error
        assert is_as_it_was(target)
        assert target.exists() is was
        assert beside(target) == []

    @pytest.mark.parametrize(("older", "private", "mode"), [
        (None, True, 0o600), (None, False, 0o640), (0o664, False, 0o664), (0o664, True, 0o600), (0o600, False, 0o600),
        (0o700, True, 0o700),
    ])  # fmt: skip
    def test_modes(self, tmp_path: Path, older: int | None, private: bool, mode: int) -> None:
        path = tmp_path / "made"
        if older is not None:
            path.touch()
            path.chmod(older)
        before = os.umask(0o027)
        try:
            with AtomicFile(path, private=private) as file:
                file.flush()
                if private:
                    assert Path(file.partial).stat().st_mode & 0o077 == 0, "from the first byte on"
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_a_symbolic_link_is_followed(self, tmp_path: Path) -> None:
        for name in ("there", "missing"):
            link, far = tmp_path / f"to-{name}", tmp_path / "far" / name
            far.parent.mkdir(exist_ok=True)
            link.symlink_to(Path("far") / name)
            if name == "there":
                far.write_bytes(OLDER)
            with AtomicFile(link) as file:
                file.write(b"new")
            assert link.is_symlink()
            assert far.read_bytes() == b"new"
            assert beside(far) in ([], [far.with_name("there")])

    @pytest.mark.parametrize("staged", [False, True])
    def test_devices_and_pipes_stay_what_they_are(self, tmp_path: Path, staged: bool) -> None:
        with AtomicFile(os.devnull, staged=staged) as file:
            file.write(b"new")
        assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
        pipe, read = tmp_path / "pipe", list[bytes]()
        os.mkfifo(pipe)
        thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        thread.start()
        with AtomicFile(pipe, staged=staged) as file:
            file.write(b"new")
        thread.join()
        assert read == [b"new"]
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    def test_a_staged_device_gets_nothing_of_what_failed(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        ours = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(ValueError, match="leak"), AtomicFile(pipe, staged=True) as file:
            file.write(b"new")
            raise ValueError("leak")
        assert os.read(ours, 10) == b""
        assert not Path(file.partial).exists()
        os.close(ours)

    def test_what_the_system_refuses_is_said_in_a_line(self, tmp_path: Path) -> None:
        for path, problem in (
            (tmp_path / "none" / "made", "No such file or directory"),
            (tmp_path, "Is a directory"),
            (Path("/dev/full"), "No space left on device"),
        ):
            with pytest.raises(WriteError, match=f"{path}: cannot be written: {problem}"), AtomicFile(path) as file:
                file.write(b"new")

    def test_a_name_as_long_as_names_can_be(self, tmp_path: Path) -> None:
        path = tmp_path / ("ü" * 127)
        with AtomicFile(path) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"

    def test_signals_are_heard_only_meanwhile(self, tmp_path: Path) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with AtomicFile(tmp_path / "made"):
            assert signal.getsignal(signal.SIGTERM) is not before
        assert signal.getsignal(signal.SIGTERM) is before
