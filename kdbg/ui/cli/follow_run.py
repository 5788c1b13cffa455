"""One run of `kdbg pipeline --follow`: batches until Ctrl-C, or until nothing comes any more."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...exchanges.filters.filter_set import Filters
from ...protocol.findings.amounts import count
from ...scale.spark import session
from . import INTERRUPTED
from .pipeline_run import POLL, options_of, print_outcome, refuse_numbers, say

if TYPE_CHECKING:
    from ...scale.spark.follow.followed import Followed, Following
    from ...scale.spark.pipeline import PipelineOptions


def run(captures: tuple[str, ...], out: str, filters: Filters, given: dict[str, Any]) -> int:
    """Follow the captures; return the exit status."""
    session.check()
    refuse_numbers(captures)
    from ...scale.spark.follow.followed import Followed
    from ...scale.spark.follow.tail import points, strangers

    if given["append"]:
        raise InputError("--follow always appends; omit --append")
    if (given["master"] or "").startswith("sc://"):
        raise InputError("--follow cannot use Spark Connect; use another --master")
    named = [str(Path(name).resolve()) if "://" not in name else name for name in captures]
    for name in strangers(points(named, rolled=given["rolled"])):  # what is not there is refused too
        say(f"skipped {name}: --follow needs pcap files as written by tcpdump")
    options = options_of(given, filters.dated(time.time_ns()))
    output = Followed(out)
    with output.alone():
        return followed(named, output, options, given)


def followed(captures: list[str], output: Followed, options: PipelineOptions, given: dict[str, Any]) -> int:
    """Follow the captures into a folder that no other run writes to; return the exit status."""
    from ...scale.spark.follow.followed import Following

    output.recover()
    spark = session.start(given["master"], dict(given["conf"]), py_files=given["py_files"], verbose=given["verbose"])
    try:
        following = Following(spark, output, options, given["forget"])
        if not watched(following, captures, given):
            say("interrupted; run the same command again to resume")
            return INTERRUPTED
    finally:
        session.stop(spark)
    return print_outcome(following.outcome, output.out)


def watched(following: Following, captures: list[str], given: dict[str, Any]) -> bool:
    """Follow in a thread, and show the counts so far on a terminal; return False if Ctrl-C ended it."""
    from rich.console import Console

    with ThreadPoolExecutor(1) as thread, Console(stderr=True).status("starting") as status:
        running = thread.submit(
            following.follow,
            captures,
            rolled=given["rolled"],
            interval=given["interval"],
            until_idle=given["until_idle"],
        )
        try:
            while not running.done():
                wait([running], POLL)
                counts = following.outcome.counts
                status.update(
                    f"following: {count(counts['packets'], 'packet')}, {count(counts['exchanges'], 'exchange')}"
                )
        except KeyboardInterrupt:
            following.cancel()
            running.result()
            return False
        running.result()
        return True
