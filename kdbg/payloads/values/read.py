"""A key or value that was read, in the place of its bytes: they are the same bytes still, with what they say beside."""

from __future__ import annotations

from .value import Value


class ReadValue(bytes):
    """The bytes of a key or value, and what a reader made of them."""

    said: Value

    @classmethod
    def of(cls, data: bytes, said: Value) -> ReadValue:
        """Put what bytes say beside them."""
        made = cls(data)
        made.said = said
        return made
