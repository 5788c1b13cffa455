"""Each rule reports a text that breaks it, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cases import for_each
from .__main__ import main
from .allowed import Allowed, allowed, left
from .collect import of_code, of_page, of_template, texts
from .rules import BANNED, Violation, check, hedged, violations
from .texts import Kind, Text

BAD = {
    "told": "the broker is told apart",
    "in vain": "3 connection attempts in vain",
    "hang up": "the broker hung up",
    "whom": "from whom the request came",
    "nobody": "nobody listens there",
    "passed over": "5 bytes were passed over",
    "is no": "orders.txt is no capture",
    "turned down": "the request was turned down",
    "of unknown name": "a user of unknown name",
    "in the clear": "the password is sent in the clear",
    "answer": "no answer from the broker",
    "behind": "4 bytes behind the last field",
    "in front": "the size in front of it",
    "veil": "secrets are veiled",
    "is due": "a count is due here",
    "sound": "the fields above are sound",
    "mend": "mend the program",
    "speak": "the broker speaks no TLS",
    "say": "the header says version 4",
    "stand": "the length stands before it",
    "want": "the listener wants a login",
    "apart": "records are shown apart",
    "alone": "keys alone are shown",
    "a line an X": "JSON, a line an exchange",
    "once more": "send it once more",
    "beyond": "data beyond the limit",
    "or else": "json, else text",
    "odd": "what is odd of it",
    "leftover": "3 leftover bytes",
    "unasked": "a response that came unasked",
    "straggler": "wait for stragglers",
    "weighty": "the weightiest cause",
    "prove": "no frame that could be proved",
    "shall": "no field shall follow",
    "hears of": "the client hears of the rebalance",
    "gives it up": "the client gives it up",
    "dash": "no response \N{EM DASH} the broker is down",
}
GOOD = (
    "the client is no longer a member",
    "there is no key in the file",
    "the follower falls behind the leader",
    "a request is queued behind a long poll",
    "a stand-alone payload",
    "an odd number of replicas",
    "a standard port; a soundtrack; understand; outspoken; commander; an amendment",
    "client shop sends a request and receives a response",
)


def rules(text: str, kind: Kind = Kind.OTHER) -> list[str]:
    """The rules that a text of source code breaks, in the place of that kind."""
    places = {
        Kind.OTHER: "shown = {}",
        Kind.ERROR: "raise ValueError({})",
        Kind.OPTION: "option(help={})",
        Kind.TITLE: "rule('code', 1, title={})",
        Kind.CAUSE: "rule('code', 1, sentence={})",
        Kind.ADVICE: "rule('code', 1, advice={})",
        Kind.LINT: "Lint('code', 1, {})",
        Kind.HEAD: "Measure('name', {})",
    }
    return [
        one.rule
        for found in of_code(places[kind].format(text), "kdbg/some.py")
        if found.kind is kind
        for one in check(found)
    ]


@for_each("name", BANNED)
def test_banned_words_are_reported(name: str) -> None:
    assert f"banned: {name}" in rules(repr(BAD[name]))


@for_each("text", GOOD)
def test_words_that_only_look_banned_are_not_reported(text: str) -> None:
    assert rules(repr(text)) == []


@for_each(("kind", "most"), [
    (Kind.OPTION, 120), (Kind.TITLE, 50), (Kind.CAUSE, 220), (Kind.ADVICE, 200), (Kind.HEAD, 10), (Kind.LINT, 90),
])  # fmt: skip
def test_texts_that_are_too_long_for_their_kind_are_reported(kind: Kind, most: int) -> None:
    full = {Kind.OPTION: "Set it {}.", Kind.ADVICE: "Set it {}."}.get(kind, "{}" if kind is Kind.HEAD else "set it {}")
    fits = full.format("x" * (most - len(full) + 2))
    assert len(fits) == most
    assert rules(repr(fits), kind) == []
    assert rules(repr(fits.replace("x", "xx", 1)), kind) == ["length"]


@pytest.mark.parametrize("text", ['f"{size} bytes"', 'f"{len(found)} more responses"', '"{length} bytes are missing"'])
def test_a_number_before_a_noun_without_a_helper_is_reported(text: str) -> None:
    assert set(rules(text)) == {"plural", "separator"}
    assert rules(text.replace("size", "size:,").replace("found)", "found):,").replace("length", "length:,")) == [
        "plural"
    ]


@for_each("text", [
    "f\"{count(size, 'byte')} are missing\"", 'f"{api} requests"', '"{count:request} without a response"',
    'f"offset {offset}"', 'f"{MOST} bytes at most"', 'f"{times(count)} in the capture"',
])  # fmt: skip
def test_numbers_that_a_helper_writes_and_other_placeholders_are_not_reported(text: str) -> None:
    assert rules(text) == []


def test_a_name_without_a_noun_is_reported() -> None:
    assert rules('"{client_id} closes the connection to {broker}"', Kind.CAUSE) == ["noun", "noun"]
    assert rules('"client {client_id} closes the connection to broker {broker}"', Kind.CAUSE) == []


@for_each(("kind", "bad", "good"), [
    (Kind.OPTION, "Limit trees to N levels", "Limit trees to N levels."),
    (Kind.ADVICE, "Raise max.message.bytes", "Raise max.message.bytes."),
    (Kind.ADVICE, "raise the limit.", "Raise the limit."),
    (Kind.ERROR, "the file is damaged.", "the file is damaged"),
    (Kind.ERROR, "The file is damaged", "the file is damaged"),
    (Kind.CAUSE, "The broker is down", "the broker is down"),
    (Kind.TITLE, "a broker that is down", "broker is down"),
])  # fmt: skip
def test_full_stops_capitals_and_articles(kind: Kind, bad: str, good: str) -> None:
    assert len(rules(repr(bad), kind)) == 1
    assert rules(repr(good), kind) == []


CAUSE = """
@rule("code", 1, title="broker is down", sentence={sentence!r}, advice="Start it.")
def broker_down(book):
    yield broker_down.case(who, facts={{"so": {fact!r}}}, certainty={certainty})
"""
PLAIN, HEDGED = "broker {broker} is down", "broker {broker} is probably down"


@for_each(("sentence", "fact", "certainty", "reported"), [
    (PLAIN, "", "'likely'", True),
    (HEDGED, "", "'likely'", False),
    (PLAIN, "it is probably down", "'likely'", True),
    (PLAIN, "it is probably down", "'certain' if seen else 'guess'", False),
    (PLAIN, "it is down", "'certain' if seen else 'guess'", True),
    (PLAIN, "it is down", "certainty", True),
    (PLAIN, "it is down", "'certain'", False),
])  # fmt: skip
def test_a_cause_that_is_not_certain_has_a_hedge(sentence: str, fact: str, certainty: str, reported: bool) -> None:
    source = CAUSE.format(sentence=sentence, fact=fact, certainty=certainty)
    assert [one.rule for one in hedged(source, "kdbg/analysis/diagnosis/rules/some.py")] == ["hedge"] * reported


def test_docstrings_keys_patterns_and_code_are_no_texts() -> None:
    source = '''
"""A module that nobody reads."""
import re
def find():
    """Return what is told."""
    re.compile("told by [a-z]+")
    return found["as told"], f"{name} = read(data, odd)", "SELECT told FROM exchanges"
class Kind:
    """What is told."""
    one = 1
    """What one is told."""
'''
    assert list(of_code(source, "kdbg/some.py")) == []


def test_patterns_of_other_programs_are_no_texts() -> None:
    source = 'TABLE = (("Java", "was told: {count} bytes", "an answer", "Look."),)'
    assert [one.template for one in of_code(source, "kdbg/analysis/pasted/phrases.py")] == ["an answer"]
    assert len(of_code(source, "kdbg/some.py")) == 2


def test_the_docstring_of_a_command_is_help() -> None:
    source = '''
@click.command()
def command():
    """Show nobody.

    Told in
    two lines.

    \\b
    kdbg told captures/
    """
'''
    found = list(of_code(source, "kdbg/ui/cli/some.py"))
    assert [(one.line, one.kind, one.template) for one in found] == [
        (4, Kind.SUMMARY, "Show nobody."), (6, Kind.COMMAND, "Told in two lines."),
    ]  # fmt: skip


def test_texts_inside_of_placeholders_are_collected() -> None:
    source = """shown = f"{'no answer' if late else 'in vain'} from the broker" """
    assert sorted(one.rule for text in of_code(source, "kdbg/some.py") for one in check(text)) == [
        "banned: answer", "banned: in vain",
    ]  # fmt: skip


def test_code_on_pages_does_not_count() -> None:
    page = "```console\n$ kdbg told\n```\nThe field `told` is a name.\nIt was told.\n"
    assert [(text.line, one.word) for text in of_page(page, "kdbg/ui/guide/some.md") for one in check(text)] == [
        (5, "told")
    ]


def test_texts_of_templates_are_collected_without_tags_and_expressions() -> None:
    template = '<p class="told">No answer in {{ told }}.</p>\n<ul aria-label="Told by {{ one }}">{% if told %}</ul>\n'
    found = [(text.line, one.word) for text in of_template(template, "kdbg/some.html") for one in check(text)]
    assert found == [(1, "answer"), (2, "Told")]


def test_meanings_of_fields_keep_their_tone_except_for_what_is_always_wrong() -> None:
    source = 'fields = "the broker answers at once", "whom the quota is for"'
    found = [one.rule for text in of_code(source, "kdbg/protocol/grammars/some.py") for one in check(text)]
    assert found == ["banned: whom"]


def test_the_allow_list_allows_what_it_names_and_reports_what_it_does_not_need() -> None:
    one, other = (
        Violation(Text("kdbg/some.py", line, Kind.OTHER, (text,)), "banned: answer", "answer", "response")
        for line, text in enumerate(("no answer", "an answer to it"))
    )
    entries = allowed("# a comment\nkdbg/some.py\tbanned: answer\tno answer\nkdbg/some.py\tplural\t1 bytes\n")
    assert left([one, other], entries) == ([other], [Allowed("kdbg/some.py", "plural", "1 bytes")])


def test_paths_are_files_or_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "some.py").write_text("shown = 'it was told'\n")
    (tmp_path / "good.md").write_text("A response.\n")
    assert len(texts([tmp_path])) == 2
    assert [one.word for one in violations([tmp_path / "inner" / "some.py"])] == ["told"]
    assert main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"{tmp_path}/inner/some.py:1: other: 'it was told': banned: told (told): " in out
    assert out.endswith("1 violation\n")
    assert main([str(tmp_path / "good.md")]) == 0
