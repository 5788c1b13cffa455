"""A kind of payload: the fields in front of its layout, what its version says, and its former layouts."""

from __future__ import annotations

import pytest

from kdbg.errors import BadValue
from kdbg.protocol.wire import BeforeRelease, Int8, Int16, Struct
from kdbg.protocol.wire.language.payload import Mistaken, Payload

LAMP = Payload(
    "Lamp",
    Struct("watts" / Int8, "volts" / BeforeRelease((3, 7), Int16)),
    range(3),
    releases=((3, 6),),
    mistaken=(Mistaken(range(1, 3), 0, "a lamp of 1902"),),
)


def test_in_front_of_a_layout_stands_its_version() -> None:
    assert LAMP.framed(2).parse(b"\0\2\7") == {"version": 2, "watts": 7}
    assert LAMP.at(2).parse(b"\7") == {"watts": 7}


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_nobody_knows_is_refused_by_its_name(version: int) -> None:
    with pytest.raises(BadValue) as caught:
        LAMP.choose(version.to_bytes(2, "big", signed=True) + b"\7")
    assert (caught.value.path, caught.value.start) == ("version", 0)
    assert f"version {version}" in caught.value.problem
    assert "0 to 2" in caught.value.problem


def test_former_layouts_say_who_wrote_them() -> None:
    chosen = LAMP.choose(b"\0\0\7")
    assert [(form.note, form.grammar.parse(b"\0\0\7\0\xe6")) for form in chosen.former] == [
        ("version 0 as written by Kafka 3.6", {"version": 0, "watts": 7, "volts": 230}),
    ]
    assert (chosen.name, chosen.note) == ("Lamp", "")
    assert [form.note for form in LAMP.reading(2).former] == ["version 2 laid out as version 0"]


def test_a_layout_without_a_version_has_one_only() -> None:
    lamp = Payload("Bulb", Struct("watts" / Int8), frame=())
    assert (lamp.version_field, lamp.version_of(b"\7")) == ("", 0)
    assert lamp.choose(b"\7").grammar.parse(b"\7") == {"watts": 7}
    assert (LAMP.version_field, LAMP.version_of(b"\0\2\7")) == ("version", 2)
