"""Old names of finding kinds and lints (up to kdbg 0.1) are accepted, and are next to the new names in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.analysis.diagnosis.lint import LINTS
from kdbg.errors import InputError
from kdbg.exchanges.filters.where.expression import expression
from kdbg.protocol.findings import OLD_NAMES, Finding, Kind
from kdbg.views.render.findings import finding_object
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.rows import problem_columns

from ..cases import for_each
from ..test_findings import IN_VAIN, MADE, OF_FILES, OF_THE_PROXY, ON_STDERR
from ..traffic import pcap
from .calls import Outcome

OLD = for_each("old", OLD_NAMES)
OF_EXCHANGES = sorted(
    name for name in OLD_NAMES if OLD_NAMES[name] not in {*ON_STDERR, *IN_VAIN, *OF_FILES, *OF_THE_PROXY}
)


def test_an_old_name_is_no_name_of_another_kind() -> None:
    assert not OLD_NAMES.keys() & set(Kind)
    assert len(set(OLD_NAMES.values())) == len(OLD_NAMES)
    with pytest.raises(ValueError, match="nothing"):
        Kind("nothing")
    assert (Kind.named("nothing"), Kind.TRUNCATED.old_name) == (None, None)


@OLD
def test_an_old_name_stands_for_its_kind(old: str) -> None:
    kind = OLD_NAMES[old]
    assert (Kind(old), Kind.named(old), kind.old_name) == (kind, kind, old)
    assert Kind(kind.value) is kind


@OLD
def test_explain_and_guide_accept_an_old_name(old: str, cli: Callable[..., Outcome]) -> None:
    kind = OLD_NAMES[old]
    assert cli("explain", old).out == cli("explain", kind).out
    assert cli("guide", old).out == cli("guide", "findings", old).out == cli("guide", kind).out
    (told,) = cli("explain", old, "--format", "json").lines
    assert (told["kind"], told["old_kind"]) == (kind, old)


@OLD
@for_each(
    "form",
    ['{} in finding_kinds', 'findings.exists(f, f.kind == {})', 'findings.exists(f, {} == f.kind)',
     'finding_kinds.exists(k, k in [{}, "truncated"])'],
)  # fmt: skip
def test_an_old_name_in_an_expression_is_the_new_one(form: str, old: str) -> None:
    old_form, new_form = (expression(form.format(json.dumps(name))) for name in (old, OLD_NAMES[old].value))
    assert str(old_form.node) == str(new_form.node)
    with pytest.raises(InputError, match="never be"):
        expression(form.format(json.dumps(f"{old}x")))


@pytest.mark.parametrize("old", OF_EXCHANGES)
def test_where_selects_the_same_exchanges_by_both_names(old: str, tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(MADE[OLD_NAMES[old]]()))
    wheres = [f'"{name}" in finding_kinds' for name in (old, OLD_NAMES[old])]
    by_old, by_new = (cli("decode", str(path), "-f", "json", "--where", where).lines for where in wheres)
    assert by_old == by_new
    found = [finding for line in by_old for finding in line["findings"] if finding["kind"] == OLD_NAMES[old]]
    assert found
    assert {finding["old_kind"] for finding in found} == {old}
    where = f"findings.exists(f, f.old_kind == '{old}')"
    assert cli("decode", str(path), "-f", "json", "--where", where).lines == by_old


@for_each("kind", Kind)
def test_json_and_tables_have_the_old_name_next_to_the_new_one(kind: Kind) -> None:
    told = finding_object(Finding(kind))
    assert (told["kind"], told["old_kind"]) == (kind.value, kind.old_name)
    columns = list(TABLES["problems"])
    row = dict(zip(columns[columns.index("file") : columns.index("run")], problem_columns(Finding(kind)), strict=True))
    assert (row["kind"], row["old_kind"]) == (kind.value, kind.old_name)


def test_a_lint_that_mirrors_a_kind_has_its_names() -> None:
    for lint in LINTS.values():
        if lint.finding is not None and lint.finding == lint.code:
            assert lint.old_code == lint.finding.old_name
    olds = [lint.old_code for lint in LINTS.values() if lint.old_code is not None]
    assert len(olds) == len(set(olds))
    assert not set(olds) & LINTS.keys()
    assert {"creates-topics", "leftover"} <= set(olds)
