"""A report as HTML: one file with everything in it. All text goes through Jinja's escaping, all data through JSON's.

Scripts run by the hashes of what kdbg put there, and nothing may be loaded: even if captured text became markup, it
could neither run nor call home. The charting library and what the filters need stand in the page compressed; the
browser unpacks them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ... import __version__
from .cells import shown
from .sections import Report

MARK = b"<!doctype html>\n<!-- kdbg report -->"
"""What every report begins with."""
MOST_SOURCES = 5
NAME = 60
"""Characters of a name that filters offer."""
LINES = 3
"""Of a thing that stands out, on the page at first."""


def page(report: Report, sources: Sequence[str], moving: dict[str, Any] | None = None) -> str:
    """Return the page as HTML; `sources` are the names of what it was made from, `moving` is what its filters need."""
    named = ", ".join(shown(source) for source in sources[:MOST_SOURCES])
    more = f" and {len(sources) - MOST_SOURCES:,} more" if len(sources) > MOST_SOURCES else ""
    scripts = {"js": _own("page.js"), "filtering": _own("filters.js")}
    environment = Environment(
        loader=PackageLoader(__package__, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["shown"] = lambda name: shown(name, NAME)
    return environment.get_template("page.html").render(
        report=report,
        sources=named + more,
        title=f"Kafka traffic: {named}{more}",
        version=__version__,
        css=Markup(_own("page.css")),
        figures=htmlsafe_json_dumps(
            {chart.id: chart.figure for section in report.sections for chart in section.charts}
        ),
        moving=moving,
        packed=None if moving is None else _packed(json.dumps(moving, separators=(",", ":")).encode()),
        plotly=base64.b64encode(_plotly()).decode(),
        hashes=Markup(" ".join(_hash(script) for script in (*scripts.values(), plotly()))),
        lines=LINES,
        **{name: Markup(script) for name, script in scripts.items()},
    )


def plotly() -> str:
    """Return the charting library as a script."""
    return gzip.decompress(_plotly()).decode()


def _plotly() -> bytes:
    return files(__package__).joinpath("plotly", "plotly-cartesian.min.js.gz").read_bytes()


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return a script's hash in the form of a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
