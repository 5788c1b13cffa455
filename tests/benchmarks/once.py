"""`python -I -S once.py whole|first COMMAND…`: run a command once, and print as JSON what it cost.

A process of its own, and a small one: Linux counts the memory of the process that starts a command as the command's.
whole   {"seconds": CPU time of it and of those it waited for, "memory": MB at the peak of the largest, "wall": seconds}
first   {"wall": seconds until the first line is in a pipe}; the command is ended there
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

REFUSED = 2
"""kdbg's exit status, and tshark's, where a command did not do what it was told; 1 is a finding in the capture."""


def whole(command: list[str]) -> dict[str, float]:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode >= REFUSED or process.returncode < 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 1024, "wall": wall}


def first(command: list[str]) -> dict[str, float]:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            sys.exit(f"{' '.join(command)}: no line")
        wall = time.perf_counter() - start
        process.kill()
    return {"wall": wall}


if __name__ == "__main__":
    print(json.dumps({"whole": whole, "first": first}[sys.argv[1]](sys.argv[2:])))
