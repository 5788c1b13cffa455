"""The error table against Kafka's own, and every way a user may spell an error."""

from __future__ import annotations

import re

from kdbg.protocol.grammars.errors import CHANGES, ERRORS, JAVA_CLASSES, describe, find

from .. import facts
from ..cases import for_each

GUIDE = {code: name for name, code in facts.error_names("0.8").items()}
"""The table "Error Codes" of the 0.8 guide; 9 is "Unused" there, 13 missing."""


def codes(query):
    return [error.code for error in find(query)]


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def test_the_table_is_that_of_kafka():
    table = facts.errors()
    assert len(table) == 135
    newer = {134, 135, 136}  # of Kafka 4.4, after the table was made
    kafkas = {f["code"]: (f["name"], f["retriable"], f["former_names"], f["first_release_seen"]) for f in table}
    ours = {}
    for code, error in ERRORS.items():
        if code in newer:
            continue
        constants = [name for name in error.former_names if name.isupper()]
        ours[code] = (error.name, error.retriable, constants, error.since)
    assert ours == kafkas


def test_the_names_of_kafka_0_10_1_are_found():
    table = facts.error_names("0.10.1")
    assert len(table) == 45
    for name, code in table.items():
        assert codes(name) == [code], name


def test_the_old_guide_names_seventeen():
    assert sorted(GUIDE) == [*range(-1, 13), 14, 15, 16]


@for_each("code, name", GUIDE.items())
def test_a_name_of_the_old_guide_is_a_former_name(code, name):
    assert name in ERRORS[code].former_names
    assert codes(name) == [code]


def test_codes_run_in_order_without_a_hole():
    assert list(ERRORS) == list(range(-1, 137))
    assert all(code == error.code for code, error in ERRORS.items())


def test_every_text_is_a_sentence_of_its_own_that_fits_a_line():
    for error in ERRORS.values():
        assert re.fullmatch(r"[A-Z].{10,105}\.", error.text), error
    assert len({error.text for error in ERRORS.values()}) == len(ERRORS)


def test_no_text_is_copied_from_the_guides():
    assert facts.copied(error.text for error in ERRORS.values()) == []


@for_each("error", ERRORS.values(), ids=lambda error: error.name)
def test_every_spelling_of_a_name_finds_just_that_error(error):
    for name in (error.name, *error.former_names):
        dashed = name.replace("_", "-").lower()
        spellings = (name, name.lower(), dashed, dashed.replace("-", " "), camel(name), f"  {name} ")
        assert [find(spelling) for spelling in spellings] == [[error]] * len(spellings)
    for ending in ("Code", "Exception", "Error", "_ERROR"):
        assert find(camel(error.name) + ending) == [error]
    assert find(str(error.code)) == [error]


@for_each(
    "query, code",
    [
        ("NotLeaderForPartitionException", 6),
        ("UnknownMemberIdException", 25),
        ("UnknownServerException", -1),
        ("KafkaStorageException", 56),
        ("InvalidTopicException", 17),
        ("INVALID_TOPIC", 17),
        ("NetworkException", 13),
        ("FetchSessionTopicIdException", 106),
        ("not_leader_for_partition", 6),
        ("GROUP-LOAD-IN-PROGRESS", 14),
        ("offsets load in progress", 14),
        *JAVA_CLASSES.items(),
    ],
)
def test_a_name_from_a_log_finds_its_error(query, code):
    assert codes(query) == [code]


def test_a_java_class_that_follows_the_name_needs_no_entry():
    for java_class, code in JAVA_CLASSES.items():
        assert f"{camel(ERRORS[code].name)}Exception" != java_class


def test_a_code_is_only_ever_a_code():
    assert codes("0") == [0]
    assert codes("-1") == [-1]
    assert codes(" 6\n") == [6]
    assert codes("137") == codes("-2") == codes("1" * 5000) == []


def test_a_part_of_a_name_finds_all_that_have_it():
    assert codes("delegation_token") == [61, 62, 63, 64, 65, 66]
    assert codes("fetch session") == [70, 71, 106]
    assert 16 in codes("ForConsumer"), "a part of a former name"
    assert {7, 26, 50} <= set(codes("timeout")), "not the one of TimeoutException only"
    assert set(codes("error")) >= {-1, 56, 106}
    assert codes("DelegationTokenException") == [61, 62, 63, 64, 65, 66]


def test_a_part_of_a_text_is_the_last_resort():
    assert codes("min.insync.replicas") == [19]
    assert set(codes("refresh the METADATA")) >= {3, 5, 6, 74}
    assert codes("acl") == [29, 30, 31, 53, 54, 65]


@for_each("query", ["", "  ", "_", "--", "no such thing", "é", "\0"])
def test_nothing_is_found_where_there_is_nothing(query):
    assert find(query) == []


@for_each(
    ("code", "expected"),
    [
        (0, "NONE"),
        (-1, "UNKNOWN_SERVER_ERROR"),
        (6, "NOT_LEADER_OR_FOLLOWER (retriable)"),
        (133, "SHARE_SESSION_LIMIT_REACHED (retriable)"),
        (999, "unknown error 999"),
        (-32768, "unknown error -32768"),
    ],
)
def test_a_code_in_words(code, expected):
    assert describe(code) == expected


def test_the_history_is_of_known_codes_in_the_order_of_time():
    for code, changes in CHANGES.items():
        assert code in ERRORS
        numbers = [[int(part) for part in change.release.split(".")] for change in changes]
        assert numbers == sorted(numbers)
        assert all(change.name or change.retriable is not None or change.meaning for change in changes)


def test_a_name_that_a_code_had_is_a_former_name_and_no_flag_is_told_twice():
    for code, changes in CHANGES.items():
        for change in changes:
            assert not change.name or change.name in ERRORS[code].former_names
        flags = [change.retriable for change in changes if change.retriable is not None]
        assert flags in ([], [not ERRORS[code].retriable])


def test_the_names_of_0_10_1_are_those_before_they_changed():
    """Every name of that guide that is not today's was changed since, and the other way round."""
    then = {code: name for name, code in facts.error_names("0.10.1").items()}
    renamed = {code: change.name for code, changes in CHANGES.items() for change in changes if change.name}
    assert {code: name for code, name in then.items() if name != ERRORS[code].name} == renamed


def test_meanings_before_0_9_name_what_the_guide_called_the_code():
    told = {code: change.meaning for code, changes in CHANGES.items() for change in changes if change.meaning}
    for code, meaning in told.items():
        assert meaning.startswith(GUIDE[code].removesuffix("Code")), code
        assert meaning.endswith("(0.8 guide)")
    assert told[9] == "Unused (0.8 guide)"
