"""The table of attacked tasks, and why those that fall stay as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from api.attack.attack import NoOracleError, attack, make_oracle
from lab.benchmarks.base import CoverageTable
from tests.attack.sources import GROUPS, Solved

BEGIN, END = "<!-- python -m tests.attack -->\n", "<!-- end -->\n"
REASONS = {
    ("examples", "half"): "the experiment's question is whether pay on the way, more of it than for"
    " the goal, teaches an agent to reach it (learning.md)",
    ("examples", "pushed"): "its shop is one document, whose own script makes its addresses"
    " (learning.md)",
    ("MiniWoB++", "constants"): "its page pays a part for each field that is right, those too that"
    " it filled in itself (flight); of a guess any digit is one (guess-number)",
    ("OSWorld", "pushed"): "its own evaluator reads the address bar, whoever put the address there",
    ("OSWorld", "claim"): "its own evaluator pays the answer that the task is infeasible, and"
    " nothing else",
    ("WebCanvas", "pushed"): "one node asks for any page of the site, and one was loaded, whatever"
    " its script wrote into the address bar: that node alone is paid",
    ("OpenComputer", "injected"): "its own verifier looks for a text on any page, whoever wrote it",
    ("OpenComputer", "elsewhere"): "its own verifier asks for a text or for a file's name, of no"
    " site",
    **dict.fromkeys(
        [("OpenComputer", kind) for kind in ("local-visits", "local-copy", "pushed")],
        "its pages are files of the machine: any page of that name is one",
    ),
    ("WebArena-Verified", "claim"): "its own evaluator asks for the answer alone: who knows it need"
    " not look; `after` or `requires` of a page would refuse what it pays",
    ("WebArena-Verified", "elsewhere"): "its own pattern, `.*/route/v1/…`, is of any host: the"
    " server of routes is not one of its sites",
}
"""Group and class of adversaries → why the tasks that fall to it stay as they are."""


@dataclass
class AttackedGroup:
    """What became of one group. ``falls``: class of adversaries → the names of the tasks that pay
    one; ``left_out``: why tasks could not be attacked, and how many."""

    name: str
    tasks: int = 0
    attacked: int = 0
    adversaries: int = 0
    unknown: int = 0
    falls: dict[str, list[str]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def paying(self) -> set[str]:
        """The tasks that pay at least one adversary."""
        return {name for names in self.falls.values() for name in names}


def attack_group(name: str, tasks: Iterable[Solved] | None = None) -> AttackedGroup:
    """Attack every task of a group, or these ``tasks`` of it."""
    group = AttackedGroup(name)
    for solved in GROUPS[name][0]() if tasks is None else tasks:
        group.tasks += 1
        _attack_one(group, solved)
    return group


def _attack_one(group: AttackedGroup, solved: Solved) -> None:
    if solved.rules is None or solved.events is None:
        group.left_out[solved.why_not] += 1
        return
    try:
        oracle = make_oracle(solved.rules, solved.events)
    except NoOracleError as error:
        group.left_out[f"its right way does not solve it: {error}"] += 1
        return
    group.attacked += 1
    for result in attack(oracle, solved.others):
        group.adversaries += 1
        group.unknown += result.verdict == "unknown"
        names = group.falls.setdefault(result.kind, []) if result.verdict == "falls" else []
        if solved.name not in names:
            names.append(solved.name)


def is_explained(group: AttackedGroup) -> bool:
    """Whether each fall of the group has its reason."""
    return all((group.name, kind) in REASONS for kind in group.falls)


def tables(groups: list[AttackedGroup]) -> str:
    """The two tables as Markdown, with a line that says what they come to."""
    rows = [
        [
            group.name,
            group.tasks,
            group.attacked,
            group.adversaries,
            group.unknown,
            len(group.paying),
        ]
        for group in groups
    ]
    sums = [sum(int(str(row[n])) for row in rows) for n in range(1, 6)]
    counts = CoverageTable(
        "Attack",
        (
            "tasks of",
            "tasks",
            "attacked",
            "adversaries",
            "of them null",
            "tasks that pay an adversary",
        ),
        [*rows, ["**all**", *sums]],
    )
    exceptions = CoverageTable(
        "Exceptions",
        ("tasks of", "class", "tasks", "why"),
        [
            [group.name, kind, _listed(names), REASONS.get((group.name, kind), "**not explained**")]
            for group in groups
            for kind, names in group.falls.items()
        ],
    )
    left = "".join(
        f"- {group.name}: {number} not attacked: {why}\n"
        for group in groups
        for why, number in group.left_out.items()
    )
    said = f"{sums[1]} tasks attacked, {sums[4]} pay an adversary."
    return f"{said}\n\n{counts.markdown()}\n{exceptions.markdown()}\n{left}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else str(len(names))


def write_into(page: str, groups: list[AttackedGroup]) -> str:
    """The page with the tables between their marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert mark, f"the page has no line {BEGIN!r}"
    assert end, f"the page has no line {END!r}"
    return f"{before}{mark}{tables(groups)}{end}{after}"
