"""Which SQL is a question: nothing else gets to Spark, which would open files for it, or run programs."""

from __future__ import annotations

import pytest

from kdbg.errors import InputError
from kdbg.scale.spark.sql import check
from kdbg.views.tables.questions import QUESTIONS


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_that_are_ready_are_questions(name: str) -> None:
    check(QUESTIONS[name].sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "-- which?\n(SELECT api FROM exchanges)",
        "/* why */ WITH a AS (SELECT 1) SELECT * FROM a JOIN b USING (api)",
        "SELECT transform(topics, x -> upper(x)) FROM exchanges",
        "SELECT 'insert', \"reflect\", r'\\' FROM exchanges",
        "DESCRIBE exchanges",
        "FROM exchanges |> SELECT api",
        "",
    ],
)
def test_questions(sql: str) -> None:
    check(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMPORARY VIEW a USING csv OPTIONS (path '/etc/passwd')",
        "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
        "with a as (select 1) insert overwrite directory '/tmp/x' using csv select * from a",
        "FROM exchanges INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
        "SET spark.sql.runSQLOnFiles=true",
        "ADD JAR '/tmp/x.jar'",
        "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE x",
        "EXECUTE IMMEDIATE 'CREATE TABLE x AS SELECT 1'",
        "BEGIN SELECT 1; END",
        "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT builtin.`REFLECT` /* ( */ ('java.lang.System', 'getenv', 'HOME')",
        "SELECT \"java_method\"('java.lang.System', 'getenv', 'HOME')",
        "SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'getenv', 'HOME')",
        "SELECT TRANSFORM(api) USING 'cat' FROM exchanges",
        "SELECT TRANSFORM(api) USING -- a comment\n \"sh -c 'id'\" FROM exchanges",
        "SELECT '\\'', reflect('a', 'b') -- '",
        "SELECT r'\\', reflect('a', 'b') -- '",
        "SELECT /*+ hint */ reflect('a', 'b')",
        "SELECT /* a /* b */ reflect('a', 'b') -- */",
    ],
)
def test_what_opens_files_or_runs_programs(sql: str) -> None:
    with pytest.raises(InputError, match=r"may open files or run programs.*--allow-files"):
        check(sql)
