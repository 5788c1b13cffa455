"""Items as users paste them, written for these tests in the formats of real threads, and what stands around them.

items.txt has them: `=== name`, then `+` for what an answer must have (`|` between alternatives), `-` for what it must
not have, `---`, and the text. Values, names and addresses are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Item(NamedTuple):
    """One paste: `has` are the facts of a good answer, `never` what would be wrong."""

    name: str
    has: tuple[str, ...]
    never: tuple[str, ...]
    text: str

    def lacks(self, answer: str) -> list[str]:
        """Return the facts that are not in an answer, and with `!` in front what should not be in it."""
        said = " ".join(answer.split()).lower()
        missing = [fact for fact in self.has if not any(word.lower() in said for word in fact.split("|"))]
        return missing + [f"!{word}" for word in self.never if word.lower() in said]


def items() -> Iterator[Item]:
    """Yield the items of items.txt."""
    for part in (Path(__file__).parent / "items.txt").read_text().split("\n=== "):
        head, _, text = part.partition("\n---\n")
        name, *marks = head.removeprefix("=== ").split("\n")
        has, never = (tuple(line[2:] for line in marks if line[0] == mark) for mark in "+-")
        yield Item(name, has, never, text.removesuffix("\n"))


def _each(front: str) -> Callable[[str], str]:
    return lambda text: "\n".join(f"{front}{line}" for line in text.split("\n"))


def _numbered(form: str) -> Callable[[str], str]:
    return lambda text: "\n".join(form.format(number, line) for number, line in enumerate(text.split("\n"), 1))


WRAPPERS: Final[dict[str, Callable[[str], str]]] = {
    "fence": "```\n{}\n```".format,
    "fence with a language": "I get this:\n\n```text\n{}\n```\n\nAny idea?".format,
    "tilde fence": "~~~~\n{}\n~~~~\n".format,
    "mail quote": _each("> "),
    "mail quote twice": _each(">> "),
    "fence in a mail quote": lambda text: _each("> ")(f"```\n{text}\n```"),
    "line numbers": _numbered("{:>4}  {}"),
    "line numbers of cat -n": _numbered("{:>6}\t{}"),
    "line numbers with bars": _numbered("{:>3} | {}"),
    "docker compose": _each("kafka-1  | "),
    "docker compose v1": _each("app_kafka_1       | "),
    "journald": _each("Jan 09 10:00:00 host-7 kafka-server-start.sh[1841]: "),
    "kubectl with prefixes": _each("[pod/kafka-0/kafka] "),
    "kubectl with timestamps": _each("2024-01-09T10:00:00.123456789Z "),
    "container runtime": _each("2024-01-09T10:00:00.123456789Z stderr F "),
    "shell": lambda text: f"user@host-7:~/shop$ ./show-it 2>&1\n{text}\nuser@host-7:~/shop$ ",
}
"""What stands around a text in issues, mails and terminals."""
