"""`--tls-keys` with a key log that does not fit: one line says so, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.ui.cli import run

FOLDER = Path(__file__).parents[2] / "captures" / "tls"


def other(name: str) -> str:
    """The log of other connections."""
    return (FOLDER / f"real-tls-{'1.3' if name == '1.2' else '1.2'}.keys").read_text()


def spoilt(name: str) -> str:
    """Its own log, with one bit of each secret turned, which stands at the end of a line."""
    lines = (FOLDER / f"real-tls-{name}.keys").read_text().splitlines()
    return "".join(f"{line[:-1]}{int(line[-1], 16) ^ 1:X}\n" for line in lines)


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "other": (other, "not decrypted: the key log has no keys for this connection, or they were logged too late"),
    "spoilt": (spoilt, "the keys for this connection do not decrypt it"),
}


@pytest.mark.parametrize("name", ["1.2", "1.3"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_key_log_is_one_line(wrong: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, words = WRONG[wrong]
    keys = tmp_path / "wrong.keys"
    keys.write_text(made(name))
    assert run(["decode", str(FOLDER / f"real-tls-{name}.pcap"), "--tls-keys", str(keys)]) == 1
    out, err = capsys.readouterr()
    *said, closing = err.splitlines()
    assert out == ""
    assert len(said) == 1, "though there are many connections, of several cipher suites"
    assert words in said[0]
    assert "0 exchanges" in closing


def test_a_file_that_is_no_key_log_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "notes.txt"
    keys.write_text("these are no keys\n")
    assert run(["decode", str(FOLDER / "real-tls-1.3.pcap"), "--tls-keys", str(keys)]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "contains no TLS secrets" in err
