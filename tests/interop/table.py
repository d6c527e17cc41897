"""Each law on each wire: the tests that hold it there, or why it does not apply.

`docs/wires.md` shows the table; `tests/interop/test_table.py` finds each test and each cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LAWS = {
    "null": "What is not known is null, never 0",
    "sealed": "What is sealed never changes",
    "tenant": "A token sees its own tenant",
    "data": "Text from the agent is data",
    "dies": "A proxy that dies loses no upstream answer",
}
WIRES = (
    *("ORS server", "ORS proxy", "MCP gateway", "MCP read surface", "Harbor", "ATIF"),
    *("OTLP", "HUD", "Agent-Lightning", "eval-protocol", "HTML"),
)


@dataclass(frozen=True, slots=True)
class Held:
    """The law is held by these tests: path and function, with the parameter where there is one."""

    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """The law does not apply."""

    because: str


def held(*tests: str) -> Held:
    return Held(tests)


DOORS = "tests/interop/test_doors.py"
ORS = "tests/api/test_ors.py"
PROXY = "tests/api/test_ors_proxy.py"
MCP = "tests/api/test_mcp.py"
GATEWAY = "tests/agentd/mcp"
HEAVY = "tests/trainers/test_heavy.py"
SEALED = f"{DOORS}::test_what_is_sealed_is_told_the_same_whatever_comes_after"
TENANT = f"{DOORS}::test_a_token_of_another_tenant_is_told_nothing"
DATA = f"{DOORS}::test_what_agent_and_page_wrote_changes_no_number_and_no_form"
UNKNOWN = "tests/trainers/test_unknown.py::test_an_adapter_gives_no_number_for_what_is_not_known"
NOTHING_BETWEEN = Absent("nothing of another server passes through it")
OPERATORS = Absent("a file that the operator makes of the operator's own database")
LIGHTNING = "tests/trainers/test_graded.py"

TABLE: Mapping[str, Mapping[str, Held | Absent]] = {
    "null": {
        "ORS server": held(f"{ORS}::test_what_is_not_known_is_null_with_its_reason"),
        "ORS proxy": held(
            f"{ORS}::test_what_a_proxy_pays",
            f"{PROXY}::test_a_service_that_is_not_there_fails_no_call",
            f"{PROXY}::test_a_call_whose_step_could_not_begin_is_not_paid_the_step_before",
        ),
        "MCP gateway": held(f"{GATEWAY}/test_unreported.py::test_what_was_not_reported_is_null"),
        "MCP read surface": held(f"{MCP}::test_why_a_step_is_null_and_what_came_nearest"),
        "Harbor": held(
            f"{UNKNOWN}[harbor_rewards]",
            "tests/trainers/test_harbor.py::test_what_is_not_known_is_an_error_with_its_reason",
            "tests/trainers/test_harbor_trials.py::test_what_nobody_knows_is_an_error_and_no_zero",
        ),
        "ATIF": held(
            "tests/rescoring/test_atif.py::test_what_is_not_known_is_null_with_its_reason",
            "tests/convert/test_atif.py"
            "::test_rules_about_pages_are_null_and_rules_about_calls_and_answers_pay",
        ),
        "OTLP": held(
            "tests/telemetry/test_spans.py"
            "::test_an_unknown_score_is_absent_in_span_and_event_and_its_reason_is_there"
        ),
        "HUD": held(f"{UNKNOWN}[graded]", f"{HEAVY}::test_hud_results"),
        "Agent-Lightning": held(
            f"{LIGHTNING}::test_agent_lightning_gets_no_reward_that_nobody_knows",
            f"{HEAVY}::test_agent_lightning_events",
        ),
        "eval-protocol": held(f"{UNKNOWN}[graded]", f"{HEAVY}::test_eval_protocol_function"),
        "HTML": held(
            "tests/pages/test_standalone.py"
            "::test_a_step_that_is_not_known_is_null_and_its_gap_is_named"
        ),
    },
    "sealed": {
        "ORS server": held(
            f"{DOORS}::test_a_call_of_the_standard_is_answered_as_it_was_whatever_comes_after",
            f"{ORS}::test_a_call_streams_the_same_answer_again_also_from_another_process",
        ),
        "ORS proxy": held(
            f"{DOORS}::test_a_proxy_and_its_successor_tell_the_same_of_a_step_that_is_sealed"
        ),
        "MCP gateway": held(
            f"{GATEWAY}/test_brackets.py::test_the_journal_of[cancelled]",
            f"{GATEWAY}/test_brackets.py::test_the_journal_of[overlapping]",
        ),
        "MCP read surface": held(f"{SEALED}[mcp read]"),
        "Harbor": held(f"{SEALED}[harbor]"),
        "ATIF": held(f"{SEALED}[atif]"),
        "OTLP": held(
            f"{SEALED}[otlp]",
            "tests/telemetry/test_exporter.py"
            "::test_what_is_sent_again_after_a_crash_are_the_same_spans",
        ),
        "HUD": held(f"{SEALED}[graded]", f"{HEAVY}::test_hud_results"),
        "Agent-Lightning": held(f"{SEALED}[agent-lightning]"),
        "eval-protocol": held(f"{SEALED}[graded]", f"{HEAVY}::test_eval_protocol_function"),
        "HTML": held(f"{SEALED}[html]"),
    },
    "tenant": {
        "ORS server": held(f"{ORS}::test_a_tenant_sees_its_own_alone"),
        "ORS proxy": held(f"{DOORS}::test_a_proxy_of_another_tenant_is_paid_nothing_of_the_firsts"),
        "MCP gateway": held(
            "tests/agentd/test_step_stream.py"
            "::test_who_shows_the_token_gets_a_stream_and_nobody_else",
            f"{GATEWAY}/test_streamable.py::test_a_page_that_lets_its_name_point_here_is_refused",
        ),
        "MCP read surface": held(f"{MCP}::test_a_token_sees_its_own_tenant"),
        "Harbor": held(f"{TENANT}[harbor]"),
        "ATIF": OPERATORS,
        "OTLP": Absent("one collector, which the operator chooses, gets the traces of all tenants"),
        "HUD": held(f"{TENANT}[graded]", f"{HEAVY}::test_hud_results"),
        "Agent-Lightning": held(
            f"{TENANT}[agent-lightning]", f"{HEAVY}::test_agent_lightning_events"
        ),
        "eval-protocol": held(f"{TENANT}[graded]", f"{HEAVY}::test_eval_protocol_function"),
        "HTML": OPERATORS,
    },
    "data": {
        "ORS server": held(f"{ORS}::test_the_agents_words_are_data"),
        "ORS proxy": held(f"{DOORS}::test_an_answer_that_says_what_it_is_worth_is_not_believed"),
        "MCP gateway": held(
            f"{DOORS}::test_words_in_a_tool_s_arguments_and_result_end_no_step",
            f"{GATEWAY}/test_messages.py::test_no_arguments_hide_a_call",
        ),
        "MCP read surface": held(f"{DATA}[mcp read]"),
        "Harbor": held(f"{DATA}[harbor]"),
        "ATIF": held(f"{DATA}[atif]", f"{DOORS}::test_a_forged_reward_in_a_trajectory_is_no_event"),
        "OTLP": held(f"{DATA}[otlp]"),
        "HUD": held(f"{DATA}[graded]", f"{HEAVY}::test_hud_results"),
        "Agent-Lightning": held(f"{DATA}[agent-lightning]"),
        "eval-protocol": held(f"{DATA}[graded]", f"{HEAVY}::test_eval_protocol_function"),
        "HTML": held(
            f"{DATA}[html]",
            "tests/pages/test_standalone.py::test_what_agent_and_page_wrote_is_text",
        ),
    },
    "dies": {
        "ORS server": NOTHING_BETWEEN,
        "ORS proxy": held(
            "tests/trainers/test_ors.py"
            "::test_a_proxy_pays_where_the_upstream_does_not_and_dies_without_losing_an_answer",
            f"{PROXY}::test_half_an_answer_does_not_pass_for_a_whole_one",
        ),
        "MCP gateway": held(
            f"{GATEWAY}/test_streamable.py"
            "::test_a_gateway_that_was_killed_loses_no_answer_of_the_server"
        ),
        "MCP read surface": NOTHING_BETWEEN,
        "Harbor": NOTHING_BETWEEN,
        "ATIF": NOTHING_BETWEEN,
        "OTLP": held(
            "tests/telemetry/test_exporter.py"
            "::test_a_service_that_is_killed_between_seal_and_export_loses_nothing"
        ),
        "HUD": NOTHING_BETWEEN,
        "Agent-Lightning": NOTHING_BETWEEN,
        "eval-protocol": NOTHING_BETWEEN,
        "HTML": NOTHING_BETWEEN,
    },
}


def as_markdown() -> str:
    """The table as `docs/wires.md` has it, and its notes."""
    lines = [f"| | {' | '.join(LAWS.values())} |", f"| --- |{' --- |' * len(LAWS)}"]
    notes: list[str] = []
    for wire in WIRES:
        cells = [_as_cell(TABLE[law][wire], notes) for law in LAWS]
        lines.append(f"| {wire} | {' | '.join(cells)} |")
    told = [f"{number}. Does not apply: {why}." for number, why in enumerate(notes, 1)]
    return "\n".join([*lines, "", *told])


def _as_cell(cell: Held | Absent, notes: list[str]) -> str:
    if isinstance(cell, Held):
        return "tested"
    if cell.because not in notes:
        notes.append(cell.because)
    return f"– ({notes.index(cell.because) + 1})"
