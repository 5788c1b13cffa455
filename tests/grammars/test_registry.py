"""The registry: keys are what its lines say, whatever stands between them, and contradictions are refused on import."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars import ALIASES, ENTRIES, KEYS, Entry, by_name

from ..cases import for_each

PRODUCE, FETCH = Entry(0, "Produce", ("Send",)), Entry(1, "Fetch")


@for_each("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_every_grammar_file_declares_the_key_and_the_name_of_its_line(entry: Entry) -> None:
    api = entry.api()
    assert (api.key, api.name) == (entry.key, entry.name)
    assert grammars.api(entry.key) is grammars.api(entry.name) is api
    for alias in entry.aliases:
        assert grammars.api(alias) is api


def test_keys_are_int16_and_come_in_their_order() -> None:
    assert list(ENTRIES) == sorted(ENTRIES)
    assert all(0 <= key < 1 << 15 for key in ENTRIES)
    assert len(ENTRIES) == len({entry.name for entry in ENTRIES.values()}), "no key or name stands twice"
    assert all(key in ENTRIES for key in ALIASES)


@pytest.mark.parametrize("line", [Entry(200, "Send"), Entry(200, "Lamp", ("SEND",)), Entry(200, "produce_request")])
def test_a_name_that_another_api_goes_by_is_refused(line: Entry) -> None:
    with pytest.raises(ValueError, match=f"Produce and {line.name} both go by the name"):
        by_name([PRODUCE, FETCH, line])


@pytest.mark.parametrize(("key", "name"), [(199, "Fetch"), (1, "Fetches")])
def test_a_grammar_file_of_another_key_or_name_is_refused(key: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = FETCH.load()
    other = replace(module.api, key=key, name=name)
    monkeypatch.setattr(module, "api", other)
    with pytest.raises(ValueError, match=f"fetch.py declares {name} with API key {key}, the registry has Fetch with"):
        FETCH.api()


def test_the_mapping_is_known_without_a_grammar_being_read() -> None:
    """On import the lines alone are looked at: that is what keeps `kdbg --help` quick."""
    import subprocess
    import sys

    script = "import sys, kdbg.protocol.grammars as grammars; "
    script += "print(sum(name.startswith(grammars.__name__ + '.') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_every_key_and_name_is_found() -> None:
    assert set(KEYS.values()) == set(ENTRIES)
    assert grammars.KEYS is KEYS
    for key in ENTRIES:
        assert grammars.name_of(key) == ENTRIES[key].name
    assert grammars.find(max(ENTRIES) + 1) is None
