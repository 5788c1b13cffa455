"""The SQL that users may send to Spark: queries of the tables.

Other statements, and some functions, open files or run programs. Spark itself opens files that a question names as
tables (`parquet.`/path``) unless `SETTINGS` are set. Tokens are those of Spark's SqlBaseLexer.g4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ....errors import InputError

SETTINGS = {"spark.sql.runSQLOnFiles": "false"}
"""What makes Spark open no file that a question names."""
QUESTIONS = frozenset({"select", "with", "from", "values", "table", "describe", "desc", "show", "explain"})
"""The words that questions begin with."""
WRITES = frozenset({"insert", "delete", "update", "merge"})
"""What may follow tables in a statement that begins as a question does."""
RUNS = frozenset({"reflect", "try_reflect", "java_method", "identifier"})
"""Functions that call any method of Java, or any function by a name that is worked out."""
TOKEN = re.compile(
    r"""
      (?P<comment> -- (?: \\\n | [^\r\n] )* | /\*(?!\+) .*? \*/ )
    | (?P<text> \br'[^']*' | \br"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | ` (?P<name> (?: [^`] | `` )* ) `
    | (?P<word> \w+ )
    | (?P<sign> \S )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def check(sql: str) -> None:
    """Raise `InputError` for SQL that is not a question, or may open files or run programs."""
    tokens = list(_tokens(sql))
    words = [word for kind, word in tokens if kind == "word"]
    if words and words[0] not in QUESTIONS:
        raise _refused(words[0].upper())
    for written in WRITES.intersection(words) if words and words[0] in ("with", "from", "explain") else ():
        raise _refused(written.upper())
    for (_, word), (kind, after) in pairwise(tokens):
        if after == "(" and word.strip("'\"") in RUNS:
            raise _refused(word)
        if word == "using" and kind == "text":
            raise _refused("USING with a program")


def _tokens(sql: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each token but comments, in lower case."""
    for found in TOKEN.finditer(sql):
        kind = found.lastgroup
        if kind is not None and kind != "comment":
            yield kind, found[kind].lower()


def _refused(what: str) -> InputError:
    return InputError(f"{what} may open files or run programs; use --allow-files to allow it")
