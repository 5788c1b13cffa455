"""What a call imports: nothing that it does not need, for start-up time is what every call pays."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .calls import CAPTURES

REPORT = """if True:
    import sys
    from kdbg.cli import run
    status = run(sys.argv[1:])
    print(status, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
HEAVY = {
    "rich", "scapy", "pyspark", "pyarrow", "construct", "confluent_kafka", "kafka", "aiokafka", "kio", "orjson",
    "cramjam", "lz4", "zstandard", "fastcrc", "xxhash", "numpy", "requests", "hypothesis", "pytest",
}  # fmt: skip


def imported(*arguments: object) -> set[str]:
    """The heavy packages that are imported once the call is done."""
    done = subprocess.run([sys.executable, "-c", REPORT, *map(str, arguments)], capture_output=True, check=True)
    status, *modules = done.stderr.decode().splitlines()[-1].split()
    assert status == "0"
    return HEAVY & set(modules)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["decode", "--help"], []], ids=" ".join)
def test_help_needs_nothing(arguments: list[str]) -> None:
    assert imported(*arguments) == set()


def test_explaining_bytes_needs_no_packets() -> None:
    found = imported("explain", "000300010000000200046b6462670000000100 03666f6f")
    assert not found & {"scapy", "pyspark", "rich", "numpy", "pyarrow"}


@pytest.mark.parametrize("format", ["tree", "summary", "hex", "json"])
def test_decoding_needs_no_clients_and_no_colours(format: str) -> None:
    allowed = {"construct", "orjson", "fastcrc", "cramjam", "lz4", "zstandard", "xxhash"}
    assert imported("decode", CAPTURES / "first-contact.pcap", "-f", format) <= allowed


def test_colours_need_rich() -> None:
    assert "rich" in imported("decode", CAPTURES / "first-contact.pcap", "--color", "always")


def test_the_library_is_imported_when_it_is_used() -> None:
    program = "import sys, kdbg; assert 'construct' not in sys.modules; kdbg.decode; assert 'construct' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
