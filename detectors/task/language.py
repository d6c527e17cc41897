"""The task language: every object of a task file and every key of each, declared once.

A key's declaration says its type, its default and its sentence. Reader (`task_from_json`), encoder
(`task_to_json`), JSON Schema (docs/task.schema.json) and reference (docs/task-reference.md) follow
from it. What keys may not say together is checked beside: semantics.py, escalation.py, probes.py,
episode_terms.py, tools_preset.py. Conditions are read in conditions.py, by what each rule declares
as its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from detectors.model.json_objects import Key, key, object_type, required_key
from detectors.model.json_types import (
    FLAG,
    ListOf,
    MapOf,
    Short,
    as_written,
    choice,
    number,
    text,
    whole,
)
from detectors.model.types import Condition, Json
from detectors.sdk.arguments import FACTS_TYPE, SCHEMA_TYPE, URL_TYPE
from detectors.sdk.rubric import RUBRIC, Line
from detectors.sdk.window import MAX_STEPS, WINDOW, Window
from detectors.task.conditions import CONDITION, TOP_CONDITION
from detectors.task.value_types import (
    ADDRESS,
    ANSWER_FORM,
    BASELINES,
    COMMAND,
    COMPONENT,
    COMPONENT_CREDIT,
    COMPONENT_NAMES,
    COMPONENT_WEIGHTS,
    CREDIT_TO,
    DECISIVE,
    DEFAULT_WEIGHTS,
    ESCALATE,
    FOLDER_PATH,
    ID,
    MAX_BUDGET_MS,
    MAX_CALLS,
    MAX_MILESTONES,
    MAX_PROBES,
    MAX_TOOL_CALLS,
    MILESTONE,
    MILESTONES,
    MILLISECONDS,
    MOMENTS,
    NOT_NEGATIVE,
    OBJECTIVES,
    ON_MISMATCH,
    ORIGIN,
    ORIGINS,
    POSITIVE,
    PROBE_ID,
    PROBE_MOMENTS,
    ROUTES,
    SCHEDULED,
    SCOPES,
    SHORT_TEXT,
    START_NAMES,
    TIER_ORDER,
    TIER_WEIGHTS,
    TIERS,
    TOOL_PAY,
    VERSION,
    Credit,
    Decisive,
    Points,
)


@dataclass(frozen=True, slots=True)
class StepSettings:
    """When a step is complete: its events have come, or its time is over."""

    quiet_ms: int = key("No event came for so long.", MILLISECONDS, 50)
    settle_ms: int = key("It is complete after so long in any case.", MILLISECONDS, 1000)


@dataclass(frozen=True, slots=True)
class Observations:
    """What the daemon records at the end of each step to train on; nothing is paid for it
    (docs/export.md)."""

    page_bytes: int = key(
        "Pages as trees of roles and names, at most so many bytes a step.",
        whole(1_024, 262_144, noun="bytes, a whole number"),
        32_768,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the end is worth, beside the way there: r = alpha * process + (1 - alpha) * [t = T] *
    outcome; without alpha both count whole."""

    alpha: float | None = key("The process's part.", number(0, 1, hint="the process's part"), None)
    success: float = key("What a success is worth.", NOT_NEGATIVE, 1.0)
    failure: float = key("What a failure is worth, at most what a success is.", number(), 0.0)

    @property
    def scale(self) -> float:
        """What the outcome is multiplied by."""
        return 1.0 if self.alpha is None else 1.0 - self.alpha


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """What must stand when an episode begins; where it does not, the episode's start is a finding
    (docs/blame.md)."""

    tabs: tuple[str, ...] = key(
        "Addresses that a tab shows, whole or below origin, without query and fragment.",
        START_NAMES,
        (),
        omit_default=True,
    )
    files: tuple[str, ...] = key(
        "Files that are there, as downloads/report.csv: watched folder and path.",
        START_NAMES,
        (),
        omit_default=True,
    )
    absent_files: tuple[str, ...] = key(
        "Files that are not there yet.", START_NAMES, (), omit_default=True
    )
    on_mismatch: Literal["report", "refuse"] = key(
        "report: another start is a finding. refuse: no step of such an episode is known, and each"
        " says why.",
        choice(ON_MISMATCH, "report or refuse"),
        "report",
        omit_default=True,
    )


@dataclass(frozen=True, slots=True)
class Efficiency:
    """A bonus for success: whole up to ``best`` steps, nothing from ``worst`` on, linear in
    between."""

    weight: float = required_key("The whole bonus.", POSITIVE, 1.0)
    best: int = required_key("Up to so many steps it is whole.", whole(1, MAX_STEPS - 1), 1)
    worst: int = required_key("From so many steps on it is 0.", whole(1, MAX_STEPS), MAX_STEPS)


@dataclass(frozen=True, slots=True)
class Shaping:
    """Potential-based shaping: the components pay gamma * Phi(s') - Phi(s), which leaves the
    optimal policy as it is (Ng, Harada and Russell 1999)."""

    potential: tuple[str, ...] = key(
        "The components that pay by their potential; by default all that have milestones, without"
        " the goal's.",
        COMPONENT_NAMES,
        (),
    )
    gamma: float = key(
        "The trainer's discount.", number(0, 1, noun="the trainer's discount, a number"), 1.0
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be asked of stages; of what is not given without limit."""

    calls: int | None = key("Calls of a judge.", whole(0, MAX_CALLS), None)
    cost: float | None = key(
        "Money, of all stages.", number(0, noun="an amount of money, a number"), None
    )


@dataclass(frozen=True, slots=True)
class RubricSet:
    """The criteria of what is asked about beside milestones."""

    goal: tuple[Line, ...] = key("Of the goal.", RUBRIC, (), omit_default=True)
    step: tuple[Line, ...] = key("Of a step.", RUBRIC, (), omit_default=True)


BUDGETS = MapOf(
    object_type(Budget, expected="an object with calls, cost, or both", at_least_one=True),
    f"an object of {', '.join(SCOPES)} and their limits",
    names=SCOPES,
)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Which steps go beyond the rules, to whom, and who of them decides (docs/cascade.md)."""

    route: Literal["cascade", "blend"] = key(
        "cascade: the first confident tier decides; blend: all weigh.",
        choice(ROUTES, "cascade or blend"),
        "cascade",
    )
    escalate: tuple[str, ...] = key(
        "Which steps go on: those without a score, the goal, those of low confidence; cause: a"
        " judge is asked why an episode failed where its events leave that open.",
        ESCALATE,
        ("unscored",),
    )
    audit: float = key(
        "The share of other steps that are judged without effect; by default 0 where nothing"
        " escalates.",
        number(0, 1, noun="a share, a number"),
        0.01,
    )
    confident: float = key(
        "From which confidence on a word decides.",
        number(0, 1, noun="a confidence, a number"),
        0.7,
    )
    tiers: tuple[str, ...] = key("Who is asked, in this order.", TIER_ORDER, TIERS)
    weights: Mapping[str, float] = key(
        "Of a blend; they sum to 1. Of a tier that abstained the weight goes to the others.",
        TIER_WEIGHTS,
        {"rule": 0.5, "model": 0.3, "judge": 0.2},
        is_written=lambda escalation: escalation.route == "blend",
    )
    decisive: Decisive = key(
        "In which direction a rule's word is proof, of milestones that do not say it.",
        choice(DECISIVE),
        "positive",
    )
    share: float = key(
        "The part of the goal's worth that tiers may add by their words on steps, all steps of an"
        " episode together.",
        number(above=0, below=1),
        0.2,
    )
    goal_first: bool = key(
        "The judge is asked about a step once the goal is decided, and not at all where the episode"
        " failed.",
        FLAG,
        False,
        omit_default=True,
    )
    patience_s: float = key(
        "A stage that is out of reach for so long counts as one that abstains.",
        number(above=0, noun="seconds, a number"),
        900.0,
    )
    rubric: RubricSet = key(
        "What is asked of the goal and of a step, criterion by criterion.",
        object_type(RubricSet, expected="an object with goal, step: lists of criteria"),
        RubricSet(),
        omit_default=True,
    )
    budget: Mapping[str, Budget] = key("What may be spent.", BUDGETS, {}, omit_default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneSpec:
    """One milestone: its condition, and what it pays when. See docs/rewards.md."""

    id: str = required_key("Its name in the task.", ID, "")
    when: Condition = required_key(
        "The condition that it is met by.", TOP_CONDITION, Condition("goal")
    )
    component: str = key("What its worth is part of; by default its rule's own.", COMPONENT, "")
    weight: float = key("Its worth, relative within the component.", POSITIVE, 1.0)
    penalty: float | None = key(
        "Paid negative, each time up to repeat.",
        number(above=0, hint="it is paid negative", keeps_int=True),
        None,
    )
    after: tuple[str, ...] = key("Pays only once these have been reached.", MILESTONES, ())
    before: tuple[str, ...] = key("Pays only while none of these has been reached.", MILESTONES, ())
    repeat: int = key("How often it can be reached.", whole(1, 1000), 1)
    baseline: Literal["never", "transition"] = key(
        "transition: what was true at the start may pay once it became untrue and true again.",
        choice(BASELINES, "never or transition"),
        "never",
    )
    must_hold_at_end: bool = key("Decided by how things stand at the end.", FLAG, False)
    revoke_on: Condition | None = key(
        "What undoes it; its worth is taken back.", CONDITION, None, nullable=True
    )
    only_if: Condition | None = key(
        "A gate: pays only while this holds, as soon as both are so.",
        CONDITION,
        None,
        nullable=True,
    )
    within: Window | None = key(
        "From the first step on, or from `since` on.", WINDOW, None, nullable=True
    )
    since: str | None = key("The milestone from which `within` counts.", MILESTONE, None)
    credit_to: Literal["occurrence", "cause"] = key(
        "The step that is paid: in which it came about, or which caused it.",
        choice(CREDIT_TO, "occurrence or cause"),
        "occurrence",
        omit_default=True,
    )
    decisive: Decisive | None = key(
        "In which direction its rule's word is proof.", choice(DECISIVE), None
    )


@dataclass(frozen=True, slots=True)
class ScriptSpec:
    """An expression that is evaluated in the page."""

    url: Json = required_key("The pages in which, as an address.", as_written(URL_TYPE), "")
    expression: str = required_key("A JavaScript expression.", SHORT_TEXT, "")


@dataclass(frozen=True, slots=True)
class GetSpec:
    """An address of the application's own API, asked with GET."""

    url: str = required_key("The address, or a path below the origin.", ADDRESS, "")


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A file's content, as a text or as JSON."""

    root: str = required_key("The name of the watched folder.", SHORT_TEXT, "")
    path: str = required_key("The file's path in it.", FOLDER_PATH, "")
    form: str = key("As what it is read.", ANSWER_FORM, "text", name="as")


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What a program prints, as a text or as JSON."""

    argv: tuple[str, ...] = required_key("The program and its arguments.", COMMAND, ())
    form: str = key("As what it is read.", ANSWER_FORM, "text", name="as")


GET = Short(text(), lambda url: {"url": url}, object_type(GetSpec))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """One fact that no event shows: the daemon reads it at the ends of steps (docs/probes.md)."""

    id: str = required_key("Its name in the task.", PROBE_ID, "")
    script: ScriptSpec | None = key("An expression in the page.", object_type(ScriptSpec), None)
    get: GetSpec | None = key("An address of the application's own API.", GET, None)
    file: FileSpec | None = key("A file's content.", object_type(FileSpec), None)
    command: CommandSpec | None = key("A program's output.", object_type(CommandSpec), None)
    when: tuple[str, ...] = key(
        "At the start always; at the end of every step; at the close.", PROBE_MOMENTS, MOMENTS
    )
    budget_ms: int = key(
        "What one reading may take.",
        whole(1, MAX_BUDGET_MS, noun="milliseconds, a whole number"),
        500,
    )

    @property
    def kind(self) -> str:
        """How it is read: the one of `PROBE_KINDS` that is given."""
        return next(kind for kind in PROBE_KINDS if getattr(self, kind) is not None)


PROBE_KINDS = ("script", "get", "file", "command")
MILESTONE_TYPE = object_type(MilestoneSpec, expected="an object with id and when")
PROBE = object_type(
    ProbeSpec,
    expected=f"an object with id and one of {', '.join(PROBE_KINDS)}",
    exactly_one=PROBE_KINDS,
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the agent should make."""

    tool: str = required_key("The tool's name.", text(), "")
    arguments: Json = key("Facts of its arguments.", as_written(FACTS_TYPE), None)


TOOL_CALLS = ListOf(
    object_type(ToolCall, expected="{tool, arguments?}"),
    f"a list of at most {MAX_TOOL_CALLS} calls {{tool, arguments?}}; empty: no call is needed",
    maximum=MAX_TOOL_CALLS,
)
TOOL_SCHEMAS = MapOf(as_written(SCHEMA_TYPE), "an object of tools and their JSON Schemas")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsPreset:
    """Asymmetric pay for tool calls, written out as milestones (docs/tasks.md)."""

    expected: tuple[ToolCall, ...] = required_key(
        "The calls that are needed; empty: none is.", TOOL_CALLS, ()
    )
    schemas: Mapping[str, Json] = key("The JSON Schema of each tool's arguments.", TOOL_SCHEMAS, {})
    pay: Mapping[str, Mapping[str, float]] = key("What each facet pays.", TOOL_PAY, {})
    free: bool = key("Pay beyond the ranges of the literature.", FLAG, False)


TOOLS = object_type(
    ToolsPreset, expected="an object with expected, and schemas, pay, free if wanted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """Numbers that change with a numeric label of the episode, such as train_step: linear between
    the points, constant outside. See docs/tasks.md."""

    label: str = required_key("The label that they go by.", text("a label's name"), "")
    points: Mapping[str, Points] = required_key(
        "By the place of a number, such as weights.goal or limits.steps: [label, value] pairs.",
        SCHEDULED,
        {},
    )
    default: float | None = key("The label of an episode that has none.", number(), None)
    at: float | None = key(
        "The label that the task's numbers are of; an episode's own task has it.",
        number(),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked of the agent, and what counts. See docs/tasks.md."""

    id: str = required_key("Its name, such as shop/buy-lamp.", ID, "")
    version: str = required_key("Its version; a change of the task wants another.", VERSION, "")
    instruction: str = required_key(
        "What the agent is told.", text("the text that the agent is told"), ""
    )
    origin: str | None = key(
        "What the task's paths resolve against.",
        ORIGIN,
        None,
    )
    hosts: tuple[str, ...] = key(
        "Further origins of the site: rules about pages hold there as well.",
        ORIGINS,
        (),
        omit_default=True,
    )
    weights: Mapping[str, float] = key(
        "The worth of each component; fit: 1 in all for those that have milestones, half of it the"
        " goal's.",
        COMPONENT_WEIGHTS,
        DEFAULT_WEIGHTS,
    )
    objectives: Mapping[str, float] = key(
        "Values beside the reward, by name: what the milestones of such a component come to.",
        OBJECTIVES,
        {},
        omit_default=True,
    )
    credit: Mapping[str, Credit] = key(
        "progress: a milestone pays once; level: each step pays by how far it is met then.",
        COMPONENT_CREDIT,
        {},
    )
    penalty_floor: float = key(
        "What all penalties of an episode come to at most.", number(maximum=0, keeps_int=True), -1.0
    )
    step_cost: float | None = key(
        "What each step of the agent costs; with the penalties at most penalty_floor.",
        number(above=0, keeps_int=True),
        None,
        omit_default=True,
    )
    settings: StepSettings = key(
        "When a step is complete.", object_type(StepSettings), StepSettings()
    )
    observations: Observations | None = key(
        "What is recorded of pages at each step, to train on.",
        object_type(Observations),
        None,
        omit_default=True,
    )
    hints: bool = key(
        "Whether hints may be asked for while an episode runs: they name what is expected.",
        FLAG,
        False,
        omit_default=True,
    )
    milestones: tuple[MilestoneSpec, ...] = required_key(
        "What counts.",
        ListOf(
            MILESTONE_TYPE, "a list of at least one milestone", minimum=1, maximum=MAX_MILESTONES
        ),
        (),
    )
    probes: tuple[ProbeSpec, ...] = key(
        "Facts that no event shows, read by the daemon. See docs/probes.md.",
        ListOf(PROBE, f"a list of at most {MAX_PROBES} probes", maximum=MAX_PROBES),
        (),
        omit_default=True,
    )
    limits: Window | None = key("What comes later pays nothing.", WINDOW, None)
    start: ExpectedStart | None = key(
        "What must stand when an episode begins.", object_type(ExpectedStart), None
    )
    infeasible: bool | None = key(
        "true: it cannot be done, and the right outcome is that the agent says so. false: it can be"
        " done, and an agent that says otherwise has failed by itself.",
        FLAG,
        None,
    )
    outcome: Outcome | None = key("What the end is worth.", object_type(Outcome), None)
    efficiency: Efficiency | None = key(
        "A bonus for success in few steps.", object_type(Efficiency), None
    )
    shaping: Shaping | None = key("Components that pay by potential.", object_type(Shaping), None)
    escalation: Escalation | None = key(
        "Which steps go on to a model or a judge. See docs/cascade.md.",
        object_type(Escalation),
        None,
        nullable=True,
    )
    schedules: Schedules | None = key(
        "Numbers that change with a label of the episode.",
        object_type(Schedules),
        None,
        omit_default=True,
    )

    @property
    def process(self) -> float:
        """What milestones and penalties are multiplied by: α, or 1."""
        return 1.0 if self.outcome is None or self.outcome.alpha is None else self.outcome.alpha

    @property
    def shaped(self) -> tuple[str, ...]:
        """The components that pay by their potential."""
        return () if self.shaping is None else self.shaping.potential

    @property
    def endings(self) -> tuple[str, ...]:
        """What the task pays for beside its milestones, as components of the reward."""
        parts = {
            "outcome": self.outcome,
            "efficiency": self.efficiency,
            "shaping": self.shaping,
            "step_cost": self.step_cost,
        }
        return tuple(name for name, part in parts.items() if part is not None)


TASK = object_type(
    Task,
    expected="an object with id, version, instruction and milestones",
    extra=(
        Key("tools", TOOLS, "A preset: milestones for the tool calls that the harness reports."),
        Key("$schema", text(), "The schema by which an editor checks the file."),
    ),
)
