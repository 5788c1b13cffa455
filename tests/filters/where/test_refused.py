"""Expressions that are wrong, mean nothing or cost too much are refused before anything is read, in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.exchanges.filters.where.expression import Expression

from ...cases import for_each
from ...cli.calls import call

pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
ERRORS = Path(kdbg.__file__).resolve().parents[1] / "captures" / "errors.pcap"
LOOP = "request.topics.exists({0}, "
HOSTILE = {
    "parentheses": "(" * 5000 + "true" + ")" * 5000,
    "parentheses, a few": "(" * 60 + "true" + ")" * 60,
    "brackets": "[" * 1000 + "]" * 1000,
    "nots": "!" * 3999 + "(1 > 0)",
    "fields": "request" + ".a" * 1500,
    "sums": "+".join(["1"] * 1900) + " > 0",
    "a text": '"' + "x" * 3000 + '" == api',
    "a very long text": '"' + "x" * 10_000_000 + '" == api',
    "bytes": 'b"' + "\\x00" * 990 + '" == b"' + "x" * 1100 + '"',
    "a list": "api_key in [" + ",".join(map(str, range(900))) + "]",
    "a long list": "api_key in [" + "1," * 1_000_000 + "1]",
    "ors": " || ".join(f"api_key=={number}" for number in range(200)),
    "loops, five": "".join(LOOP.format(name) for name in "abcde") + "true" + ")" * 5,
    "loops over lists": "[1,2,3].all(a, [1,2,3].all(b, [1,2,3].all(c, a + b + c > 0)))",
    "loops that multiply": "request.topics.all(a, request.topics.all(b, request.topics.all(c, a.name == c.name)))",
    "lists that double": "[1,1].map(a, [1,1].map(b, [1,1].map(c, [1,1].map(d, [1,1])))).size() > 0",
    "a repeated pattern": 'client_id.matches("((a{1,999}){1,999}){1,999}")',
    "a long pattern": f'client_id.matches("{"(a*)*" * 100}")',
    "a captured pattern": "client_id.matches(client_id)",
    "a pattern that is none": 'client_id.matches("(")',
    "a made pattern": 'client_id.matches("a" + client_id)',
    "no text": "\x00\x1b[2J",
    "a structure": "{" + ",".join(f'"{number}": {number}' for number in range(300)) + "}.a == 1",
}


@for_each("hostile", HOSTILE)
def test_hostile_ones(hostile: str) -> None:
    with pytest.raises(InputError, match=r"^--where: [^\n\x1b]{1,200}$"):
        Expression(HOSTILE[hostile])


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 20


def test_patterns_take_time_in_proportion_to_the_text() -> None:
    fits = Expression('client_id.matches("^(a+)+$") || client_id.matches("(a|a)*b(a|a)*c")').check({})
    exchange = next(kdbg.read(ERRORS))
    exchange.client_id = "a" * 30_000 + "!"
    assert fits(exchange) is False


def test_what_goes_over_too_much_ends() -> None:
    """Two loops that multiply may be asked for, and a message may have many items."""
    fits = Expression("request.topics.all(a, request.topics.all(b, a.name == b.name))").check({})
    exchange = next(kdbg.read(ERRORS, api="metadata"))
    assert exchange.request is not None
    message = exchange.request.message(shallow=True)
    assert message is not None
    message.body["topics"] = [{"name": "x"}] * 1100
    with pytest.raises(InputError, match="costs too much: more than 1,000,000 steps in exchange"):
        fits(exchange)


@for_each(
    ("text", "said"),
    [
        ('apy == "Fetch"', "column 1: unknown name 'apy'; did you mean api"),
        ("true && latncy_ms > 1", "column 9: unknown name 'latncy_ms'; did you mean latency_ms"),
        ("api.lowercase() == api", "unknown name or function 'lowercase'"),
        ("request.topicz == 1", "no message has request.topicz; did you mean request.topics"),
        ('request.topics[0].naem == "x"', r"did you mean request.topics\[0\].name"),
        ('request.topics.exists(t, t.naem == "x")', "no message has t.naem; did you mean t.name"),
        ("request.body.max_wait > 1", "did you mean request.body.max_wait_ms"),
        ("has(response.throttle)", "did you mean response.throttle_time_ms"),
        ("errors.exists(e, e.kode == 6)", "no message has e.kode; did you mean e.code"),
        ("connection.port == 1", "no message has connection.port; known names: client, broker, id"),
        ("latency_ms.x == 1", "latency_ms is a number, and has no fields"),
        ("request.topics.name == 1", "request.topics is a list, and has no fields"),
        ("response.throttle_time_ms.exists(t, t > 1)", "is a number, not a list"),
        ("api > 3", "> does not apply to string and int"),
        ('latency_ms > "x"', "latency_ms is a number, but 'x' is a text"),
        ('response.throttle_time_ms == "x"', "response.throttle_time_ms is a number, but 'x' is a text"),
        ("request.topics.exists(t, t.name == 5)", "t.name is a text, but 5 is a number"),
        ("api == 3", "== does not apply to string and int"),
        ('"x" in partitions', "in does not apply to string and list"),
        ('request.max_wait_ms in [500, "1s"]', "request.max_wait_ms is a number, but '1s' is a text"),
        ('api == "fetch"', "api can never be 'fetch'; did you mean 'Fetch'"),
        ('api in ["Fetch", "Prodce"]', "api can never be 'Prodce'; did you mean 'Produce'"),
        ('api == "consumer-metadata"', "did you mean 'FindCoordinator'"),
        ('"NOT_LEADER" in error_names', "never be 'NOT_LEADER'; did you mean 'NOT_LEADER_OR_FOLLOWER'"),
        ('errors.exists(e, e.code == "NOT_LEADR_OR_FOLLOWER")', "did you mean 'NOT_LEADER_OR_FOLLOWER'"),
        ('response.error_code == "REBALANCING"', "response.error_code can never be 'REBALANCING'"),
        ('"lefover" in finding_kinds', "never be 'lefover'; did you mean 'trailing-bytes'"),
        ("latency_ms", "a filter must be true or false, but latency_ms is a number"),
        ("api", "a filter must be true or false, but this is a string"),
        ("request.acks == 1u", "write 1, not 1u"),
        ("api ==", "column 7: the expression ends where a value is expected$"),
        ("request[", "column 9: the expression ends where a value is expected$"),
        ("partitions == [1,", r"column 18: the expression ends where '\]' is expected$"),
        ("api == 'x", "column 8: unclosed quotation mark"),
        ('api = "Fetch"', "column 5: unexpected '='; compare with ==$"),
        ('api =~ "F.*"', r"column 5: unexpected '=~'; compare with matches\(\)"),
        ('api == "Fetch" and latency_ms > 1', "column 16: unexpected 'and'; the operators are &&, "),
        ("latency_ms > 1)", r"column 15: unexpected '\)'$"),
        ("request.", "column 9: expected a name after '.'$"),
        ("api == if", "column 8: if is a reserved word$"),
        ("type(api) == string", "string is a type, not a value"),
        ("", "invalid value '' of where"),
    ],
)
def test_wrong_ones(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        kdbg.read(ERRORS, where=text)


def test_the_command_line_says_it_in_a_line_and_reads_nothing() -> None:
    done = call("decode", ERRORS, "--where", 'apy == "Fetch"')
    assert (done.status, done.out) == (2, "")
    assert done.err == "kdbg: --where: column 1: unknown name 'apy'; did you mean api or api_key?\n"


def test_without_the_library_it_says_what_to_install() -> None:
    import subprocess
    import sys

    script = "import sys; sys.modules['cel_expr_python'] = None; from kdbg.ui.cli import main; main()"
    command = [sys.executable, "-c", script, "decode", str(ERRORS), "--where", "number == 1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kdbg: --where: needs the package cel-expr-python; pip install 'kdbg-kafka[where]'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["number == 3", "connection.id == 1", "3 in packets", "request.packets[0] == 1"])
def test_in_archives_nothing_has_a_number(text: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    done = call("pipeline", ERRORS, "--out", tmp_path / "tables", "--where", text)
    assert done.status == 2
    assert "has no meaning in archives" in done.err
