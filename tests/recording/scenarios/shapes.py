"""The talk is plain; what matters is how it was captured: other file formats, small segments, missing packets."""

from __future__ import annotations

import random
import string
import subprocess
import tempfile
from pathlib import Path

from recording.network import FIRST_BROKER_PORT
from recording.scenarios.everyday import simple

FULL_SEGMENT = 1448  # an Ethernet MTU of 1500 less IP header, TCP header and TCP time stamps


def nanosecond(out: Path) -> None:
    """Time stamps of nanoseconds, as pcapng."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pcap"
        simple(whole, ["21.5 °C", "21.7 °C", "22.0 °C"], nanoseconds=True)
        _editcap("-F", "pcapng", whole, out)


def segmented_lossy(out: Path) -> None:
    """Messages of many 1,448-byte segments; of a request and of an answer, the capture lacks some in the middle."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pcap"
        simple(whole, [_text(9_000) for _ in range(5)], max_partition_fetch_bytes=12_000)
        requests = _full_segments(whole, f"tcp.dstport == {FIRST_BROKER_PORT}")
        responses = _full_segments(whole, f"tcp.srcport == {FIRST_BROKER_PORT}")
        lost = [requests[8], requests[9], requests[18], responses[8]]  # of the 2nd request; the start of the 4th; …
        _editcap(whole, out, *lost)


def midstream(out: Path) -> None:
    """The capture begins in the middle of a Produce request on a connection it didn't see open."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pcap"
        simple(whole, [_text(6_000) for _ in range(3)])
        missed = _full_segments(whole, f"tcp.dstport == {FIRST_BROKER_PORT}")[1]
        _editcap(whole, out, f"1-{missed}")


def _text(size: int) -> str:
    return "".join(random.choices(string.ascii_lowercase + " ", k=size))


def _full_segments(capture: Path, which: str) -> list[int]:
    """The frame numbers of the segments that are full, so that more of their message follows."""
    wanted = f"tcp.len == {FULL_SEGMENT} && {which}"
    command = ["tshark", "-r", str(capture), "-Y", wanted, "-T", "fields", "-e", "frame.number"]
    return [int(number) for number in subprocess.run(command, check=True, capture_output=True).stdout.split()]


def _editcap(*arguments: str | int | Path) -> None:
    subprocess.run(["editcap", *map(str, arguments)], check=True)
