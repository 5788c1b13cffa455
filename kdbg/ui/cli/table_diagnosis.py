"""What a pipeline's diagnosis found, told as `kdbg diagnose` tells what it finds itself."""

from __future__ import annotations

from ...views.render.style import Look
from ...views.render.values import escape
from . import UNDECODED
from .case_writer import Judge
from .output import Writer


def of_tables(folder: str, format: str, look: Look, notes: bool) -> int:
    """Tell the causes that a folder of tables holds, capture by capture; return the exit status.

    Raise `InputError` where it holds none because nobody asked for them.
    """
    from ...scale.spark.causes import judgements

    writer = Writer()
    judge = Judge(format, look, writer, notes)
    found = list(judgements(folder))
    several = len(found) > 1
    worst = []
    for one in found:
        if several and format != "json":
            writer.write(look.paint("heading", f"==> {escape(one.capture)} <==") + "\n")
        file = "" if one.pieces else one.capture  # no command takes all pieces of a capture as one
        worst.append(judge.tell(one.cases, file, one.capture if several else None))
    writer.flush()
    return UNDECODED if any(worst) else 0
