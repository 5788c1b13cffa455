"""`python -m tests.benchmarks [decode|pipeline] [--captures DIR] [--rounds N] [--write]`: how fast kdbg is.

`decode` is measured beside tshark and others (three minutes), `pipeline` beside `decode` (half an hour, 10 GB of disk).
Records the two captures first where they are missing (needs root and tcpdump, see record.py). Prints Markdown tables;
`--write` puts them into the manual's page on speed, and the first one into the README, between their markers. Nothing
here is asserted: compare the ratios.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from .decoders import report as decoders
from .measure import costs, table

HERE = Path(__file__).parent
TOP = HERE.parents[1]
README, SPEED = TOP / "README.md", TOP / "kdbg" / "guide" / "speed.md"
TSHARK = {
    "summary": ("-T", "fields", "-e", "frame.number", "-e", "kafka.api_key", "-e", "kafka.correlation_id"),
    "json": ("-T", "json", "-J", "kafka"),
    "tree": ("-V", "-O", "kafka"),
}
FLAGS = {"summary": "-T fields", "json": "-T json -J kafka", "tree": "-V -O kafka"}
PORT = 9092


def captures(folder: Path) -> dict[str, Path]:
    """The two benchmark captures, recorded if need be."""
    found = {kind: folder / f"{kind}.pcap" for kind in ("small", "big")}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in found.items():
        if not path.exists():
            subprocess.run([sys.executable, str(HERE / "record.py"), kind, str(path)], check=True)
    return found


def views(paths: dict[str, Path], rounds: int) -> str:
    """Each view beside what tshark does of the same kind."""
    rows = []
    for kind, path in paths.items():
        for view, options in TSHARK.items():
            ours = [sys.executable, "-m", "kdbg", "decode", str(path), "--format", view]
            theirs = ["tshark", "-r", str(path), "-d", f"tcp.port=={PORT},kafka", "-Y", "kafka", *options]
            a, b = costs([ours, theirs], rounds)
            rows.append([
                f"{kind} ({path.stat().st_size / 1e6:.0f} MB), {view}", f"{a.seconds:.2f} s", f"{a.memory:.0f} MB",
                f"`{FLAGS[view]}`", f"{b.seconds:.2f} s", f"{b.memory:.0f} MB", f"{a.seconds / b.seconds:.2f}",
            ])  # fmt: skip
    return table(("capture, view", "kdbg", "peak", "tshark", "CPU", "peak", "kdbg / tshark"), rows)


def starts(rounds: int) -> str:
    """What it costs to start, beside Python itself; with PYTHONDONTWRITEBYTECODE every start would compile kdbg."""
    python, capture = sys.executable, str(TOP / "captures" / "first-contact.pcap")
    frame = "0000001700030001000000020004" + "6b646267" + "00000001" + "0003666f6f"
    broken = "00000038" + "00000002" + "0000000100000001000f6b61666b612d312e6578616d706c6500002384ffff"
    theirs = ["tshark", "-r", capture, "-d", f"tcp.port=={PORT},kafka", "-Y", "kafka", *TSHARK["summary"]]
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import click": [python, "-c", "import click"],
        "kdbg --help": [python, "-m", "kdbg", "--help"],
        "kdbg explain (27 bytes)": [python, "-m", "kdbg", "explain", frame],
        "kdbg explain (a response, cut off)": [python, "-m", "kdbg", "explain", broken],
        "kdbg decode -f summary (31 exchanges)": [python, "-m", "kdbg", "decode", "-f", "summary", capture],
        "tshark -T fields (the same)": theirs,
        "import construct": [python, "-c", "import construct"],
        "the registry, a message by its grammar": [python, "-c", PARSE_ONE],
        "import kdbg; kdbg.decode(…)": [python, "-c", DECODE_ONE],
    }
    found = costs(list(commands.values()), max(rounds, 9))
    base = found[0].seconds
    rows = [[name, f"{cost.seconds * 1000:.0f} ms", f"+{(cost.seconds - base) * 1000:.0f} ms"]
            for name, cost in zip(commands, found, strict=True)]  # fmt: skip
    return table(("command", "CPU", "beyond Python"), rows)


PARSE_ONE = "from kdbg.grammars import api; api('heartbeat').at('response', 0).parse(bytes(2))"
DECODE_ONE = "import kdbg; kdbg.decode(bytes(2), api='heartbeat', version=0, direction='response', header=False)"


def decode(paths: dict[str, Path], rounds: int) -> str:
    """Everything about one process."""
    if shutil.which("tshark") is None:
        sys.exit("tshark is not installed: there is nothing to compare with")
    version = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    when = f"Measured {setting()}, tshark {version}; CPU seconds, median of {rounds} rounds in turn."
    return "\n\n".join([when, views(paths, rounds), decoders(paths), starts(rounds)])


def pipeline(paths: dict[str, Path], folder: Path) -> str:
    """Everything about Spark."""
    import pyspark

    from .pipeline import MASTER, report

    return "\n\n".join([f"Measured {setting()}, Spark {pyspark.__version__} as `{MASTER}`; wall time.",
                        report(paths, folder)])  # fmt: skip


def setting() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("decode", "pipeline"), default="decode")
    parser.add_argument("--captures", type=Path, default=Path.home() / ".cache" / "kdbg" / "benchmarks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into the manual and the README")
    options = parser.parse_args()
    paths = captures(options.captures)
    text = decode(paths, options.rounds) if options.what == "decode" else pipeline(paths, options.captures)
    print(text)
    if options.write and options.what == "decode":
        write(SPEED, "benchmarks", text)
        _, views_alone, *_ = text.split("\n\n")
        write(README, "benchmarks", "\n".join(line for line in views_alone.splitlines() if "| big" not in line))
    elif options.write:
        write(SPEED, "pipeline", text)


def write(path: Path, mark: str, text: str) -> None:
    """Put a text between the markers of a Markdown file."""
    old = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(rf"(?s)(<!-- {mark} -->\n).*(<!-- /{mark} -->)", rf"\g<1>{text}\n\g<2>", old), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
