"""The rooms that are looked at, their modules, and the tests that answer for them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]


class Room(NamedTuple):
    """A folder of kdbg, and the tests whose failing counts; `tests/<room>` is always among them."""

    name: str
    also: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """Files of tests, or single tests, that start kdbg in processes of its own, which have no mutant; or that a mutant
    which survives would cost minutes."""

    @property
    def modules(self) -> list[str]:
        """The room's files, as paths from the project's top; a folder below that is a room itself is left out."""
        folders = {*(TOP / "kdbg").glob(self.name), *(TOP / "kdbg").glob(f"*/{self.name}")}
        found = sorted(path for folder in folders for path in folder.rglob("*.py")
                       if not ROOMS.keys() & set(path.relative_to(folder).parts))  # fmt: skip
        own = (path for path in found if path.name != "__init__.py" or "\ndef " in path.read_text())
        return [str(path.relative_to(TOP)) for path in own]

    @property
    def tests(self) -> list[str]:
        """What pytest is called with: the files of tests, as paths from the project's top, and what is left out."""
        places = [f"tests/{self.name}", *self.also]
        files = [path for place in places for path in ([TOP / place] if place.endswith(".py") else below(place))]
        found = [str(path.relative_to(TOP)) for path in files]
        left_out = [f"--deselect={one}" for one in self.apart if "::" in one]
        return [path for path in found if path not in self.apart] + left_out


def below(folder: str) -> list[Path]:
    """Return the files of tests in a folder."""
    return sorted((TOP / folder).rglob("test_*.py"))


DIAGNOSES = (
    "tests/diagnosis/test_one_story.py",
    "tests/diagnosis/test_shared.py",
    "tests/diagnosis/test_captures.py",
    "tests/diagnosis/test_stories.py",
    "tests/diagnosis/test_lint.py::test_the_command",
    "tests/diagnosis/test_readiness.py::test_the_command_counts_and_says_so_by_its_status",
    "tests/diagnosis/test_readiness.py::test_keys_that_nobody_knows_are_passed_over",
    "tests/diagnosis/test_readiness.py::test_a_broken_list_of_versions_offers_what_is_whole",
    "tests/ledgers/test_latency.py::test_expressions_ask_for_it",
    "tests/ledgers/test_latency.py::test_trees_and_hexdumps_have_two_lines_of_it",
    "tests/ledgers/test_latency.py::test_several_cores_say_the_same",
    "tests/ledgers/test_latency.py::test_a_summary_has_no_room_for_it",
)
"""Tests that diagnose each of many captures several times, or start kdbg in a process of its own."""
REDACTIONS = (
    "tests/redact/test_captures.py::test_the_exchanges_are_the_same_and_nothing_is_left",
    "tests/redact/test_captures.py::test_tshark_sees_the_same_frames_and_right_checksums",
)
"""Tests that redact each of many captures."""
SIGNALS = (
    "tests/signals/test_collector.py::test_a_receiver_gets_what_a_file_holds",
    "tests/signals/test_collector.py::test_the_collector_gets_and_reads_what_a_file_holds",
    "tests/signals/test_collector.py::test_without_the_sdk_a_line_says_what_to_install",
    "tests/signals/test_metrics.py::test_numbers_are_those_of_stats",
    "tests/signals/test_metrics.py::test_promtool_has_nothing_to_say",
    "tests/signals/test_spans.py::test_spans_say_what_json_says",
    "tests/signals/test_spans.py::test_exchanges_are_below_their_connection",
    "tests/signals/test_spans.py::test_a_log_has_spans_as_far_as_it_has_times",
)
"""Tests that export each of many captures, or start programs of others."""
SCREENS = (
    "tests/tui/test_causes.py::test_an_incident_has_the_causes_that_diagnose_prints",
    "tests/tui/test_causes.py::test_filters_choose_what_is_shown_and_not_what_is_judged",
    "tests/tui/test_causes.py::test_each_file_is_judged_by_itself",
    "tests/tui/test_causes.py::test_causes_are_folded_and_stay_so_as_more_is_told",
    "tests/tui/test_causes.py::test_a_file_that_is_still_read_says_so",
    "tests/tui/test_causes.py::test_a_stream_is_judged_while_it_comes",
    "tests/tui/test_keys.py",
    "tests/tui/test_live.py",
    "tests/tui/test_stalled.py",
    "tests/tui/test_tables.py",
    "tests/tui/test_opened.py::test_fields_say_and_mean_what_explain_prints",
    "tests/tui/test_views.py::test_a_view_more_is_one_entry",
    "tests/tui/test_views.py::test_a_view_is_brought_up_by_its_key",
    "tests/tui/test_views.py::test_a_terminal_of_another_width_has_the_panes_of_that_width",
)
"""Tests that begin a screen, or a proxy, for each of many keys: those that walk through screens press them as well."""
WATCHES = (
    "tests/live/test_signals.py",
    "tests/live/test_watch.py",
    "tests/live/test_growing_files.py",
    *(f"tests/live/test_remote.py::{name}" for name in (
        "test_what_tcpdump_sees_there_is_shown_here_and_written",
        "test_nothing_is_left_behind_when_kdbg_is_killed",
        "test_a_command_that_fails_is_named_with_its_status",
        "test_ctrl_c_ends_one_that_does_not_come_to_an_end",
        "test_no_such_program",
    )),
    *(f"tests/live/test_limits.py::{name}" for name in (
        "test_without_descriptors_clients_are_refused_and_served_again_once_others_have_gone",
        "test_the_mock_refuses_clients_without_descriptors_and_serves_others_once_these_have_gone",
        "test_memory_is_bounded_while_faults_hold_large_requests",
        "test_memory_is_bounded_though_nobody_reads",
        "test_memory_is_bounded_though_brokers_begin_large_responses",
    )),
    "tests/live/test_owners.py::test_connections_are_told_with_their_processes_and_chosen_by_them",
    "tests/live/test_owners.py::test_processes_of_another_machine_are_not_known",
    "tests/live/test_proxy.py::test_a_thousand_connections_at_once_and_nothing_is_left_behind",
    "tests/live/test_proxy.py::test_a_proxy_that_is_killed_leaves_nobody_waiting",
    "tests/live/test_proxy.py::test_a_client_gets_the_error_that_a_fault_makes",
    "tests/live/test_proxy.py::test_a_client_of_a_whole_cluster_stays_inside",
)  # fmt: skip
"""Tests that start kdbg in a process of its own, or wait for a client library; and one of a thousand connections."""
ROOMS = {
    room.name: room
    for room in (
        Room("tcp"),
        Room("wire", ("tests/cli/test_secrets_hidden.py", "tests/grammars/payloads/test_telemetry.py")),
        Room("capture"),
        Room("pasted"),
        Room(
            "tables",
            (
                "tests/render/test_views.py",
                "tests/report/test_facts.py",
                "tests/messages/test_misaligned.py",
                "tests/test_library.py",
                "tests/guide/test_references.py",
            ),
        ),
        Room(
            "render",
            (
                "tests/cli/test_coverage.py",
                "tests/cli/test_decode.py",
                "tests/cli/test_errors_command.py",
                "tests/cli/test_explain.py",
                "tests/cli/test_explain_numbers.py",
                "tests/cli/test_grammar.py",
                "tests/cli/test_grammar_compatible.py",
                "tests/cli/test_grammar_pages.py",
                "tests/cli/test_grammar_payloads.py",
                "tests/cli/test_hostile.py",
                "tests/cli/test_meanings.py",
                "tests/cli/test_segments.py",
            ),
        ),
        Room("engine"),
        Room("messages", ("tests/grammars/test_dialects.py",)),
        Room("diagnosis", apart=DIAGNOSES),
        Room("ledgers", ("tests/diagnosis",), apart=DIAGNOSES),
        Room("live", apart=WATCHES),
        Room("client"),
        Room("redact", apart=REDACTIONS),
        Room("tls"),
        Room("logs", ("tests/cli/test_judged.py",)),
        Room("multipoint"),
        Room("tui", apart=SCREENS),
        Room("signals", ("tests/guide/test_references.py",), SIGNALS),
    )
}
