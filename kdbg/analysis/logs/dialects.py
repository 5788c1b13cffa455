"""Every dialect, declared once. To add one, write a file like `librdkafka.py` and add its `dialect` here."""

from __future__ import annotations

from . import broker, java, kafka_python, kafkajs, librdkafka, sarama
from .dialect import Dialect, LineFacts

DIALECTS: dict[str, Dialect] = {
    one.dialect.name: one.dialect for one in (librdkafka, java, kafka_python, kafkajs, sarama, broker)
}
"""The dialects by their names."""
MARKED = tuple((mark.encode(), one) for one in DIALECTS.values() for mark in one.marks)


def line_facts(line: bytes) -> tuple[Dialect, LineFacts] | None:
    """Return what a line says of an exchange, and in which dialect; None where it says nothing of one."""
    for mark, one in MARKED:
        if mark in line and (found := one.read(line.decode("utf-8", "replace"))) is not None:
            return one, found
    return None
