"""Pages in colour: the same words as without, and every style that they name exists."""

from __future__ import annotations

import re
from collections.abc import Callable

from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.protocol.grammars.payloads import payloads
from kdbg.views.render import coverage, errortext, grammar_versions, typetext
from kdbg.views.render.grammar import header_sheets, message_sheets, record_sheets, sheet_text
from kdbg.views.render.hex.hexdump import hexdump
from kdbg.views.render.numbers import number_text
from kdbg.views.render.style import Look

from ..cases import for_each

METADATA, PRODUCE = grammars.api("Metadata"), grammars.api("Produce")
OLD, NEW = (message_sheets(METADATA, version)[0] for version in (4, 9))
HEADER = bytes.fromhex("0003 0004 00000007 0001 63 ffffffff 01")
PAGES: dict[str, Callable[[Look], str]] = {
    "coverage": lambda look: coverage.overview(grammars.apis(), look),
    "coverage of an API": lambda look: coverage.one(METADATA, look),
    "coverage of payloads": coverage.payloads,
    "an error": lambda look: errortext.one(ERRORS[6], look),
    "errors": lambda look: errortext.several(ERRORS.values(), look),
    "an API": lambda look: grammar_versions.overview(PRODUCE, ("request", "response"), look),
    "two versions": lambda look: grammar_versions.diff_text(OLD, NEW, look),
    "a grammar": lambda look: sheet_text(NEW, look),
    "headers": lambda look: "".join(sheet_text(sheet, look) for sheet in [*header_sheets(), *record_sheets()]),
    "a payload": lambda look: grammar_versions.overview(next(iter(payloads())), (), look),
    "payloads": lambda look: "".join(grammar_versions.payload_listing(look)),
    "a type": lambda look: typetext.type_page(typetext.types()[0], look),
    "types": typetext.type_listing,
    "the notation": typetext.notation_page,
    "an explained hexdump": lambda look: "\n".join(hexdump(HEADER, METADATA, 4, "request", look, {})) + "\n",
    "a number": lambda look: number_text(1213486160, look)[0],
}


@for_each("page", PAGES)
def test_colour_adds_nothing_but_escape_sequences(page: str) -> None:
    plain, coloured = (PAGES[page](Look(colours, meanings=True)) for colours in ("", "STANDARD"))
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()
