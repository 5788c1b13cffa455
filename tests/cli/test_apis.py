"""`kdbg apis`: all of them, in a table that fits a narrow terminal, or as JSON."""

from __future__ import annotations

import json
import subprocess
import sys

from kdbg.protocol import grammars

NEWEST = [api.versions[-1] for api in grammars.apis()]
BEGINNING = f"""\
key  name                          version  flexible  aliases
  0  Produce                       0-{NEWEST[0]}     from 9    Send
  1  Fetch                         0-{NEWEST[1]}     from 12
  2  ListOffsets                   0-{NEWEST[2]}     from 6    Offsets, Offset,
                                                      ListOffset
  3  Metadata                      0-{NEWEST[3]}     from 9    TopicMetadata
  4  LeaderAndIsr                  0-7      from 4
"""


def apis(*options: str) -> str:
    command = [sys.executable, "-m", "kdbg", "apis", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_table_fits_80_columns() -> None:
    text = apis()
    assert text.startswith(BEGINNING)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert [int(line[:3]) for line in lines[1:] if line[:3].strip()] == list(grammars.ENTRIES)
    assert f" 17  SaslHandshake                 0-{NEWEST[17]}      no" in lines


def test_every_alias_is_in_it() -> None:
    text = apis()
    for entry in grammars.ENTRIES.values():
        assert entry.name in text
        for alias in entry.aliases:
            assert alias in text


def test_json_is_an_object_a_line() -> None:
    objects = [json.loads(line) for line in apis("--format", "json").splitlines()]
    assert [found["api"] for found in objects] == [api.name for api in grammars.apis()]
    assert objects[3] == {
        "api_key": 3, "api": "Metadata", "min_version": 0, "max_version": NEWEST[3], "flexible_from": 9,
        "aliases": ["TopicMetadata"],
    }  # fmt: skip
    assert objects[17]["flexible_from"] is None
