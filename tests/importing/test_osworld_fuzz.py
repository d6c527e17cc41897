"""Imported tasks of OSWorld's kind that are made up: settings, texts, lines, tables, commands, tabs, alone and
together, as its evaluators ask for them.

Of each: the outcome that it describes is paid, however the machine came to it; what was so at the start, nothing,
another change, and an outcome with one thing wrong are not; and a task that can't be judged says so.
"""

from __future__ import annotations

import random
import string
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab.benchmarks.base import Imported
from tests.detectors.tables_reads import told
from tests.importing.osworld_tasks import CHROME, VLCRC, imported, rule, vm, worth
from tests.support.examples import examples
from tests.support.logs import Said, answered, created, went

WORDS = "amber basil cedar delta ember fjord grove hazel iris jade kelp lotus maple nectar onyx pearl".split()
Json = dict[str, Any]


class Made(NamedTuple):
    """One function of an evaluator, an outcome that fulfils it, and such that do not, by what is wrong with them.
    ``known``: whether its outcome may be there before the agent begins."""

    function: str
    result: Json
    expected: Json
    right: list[Said]
    wrong: dict[str, list[Said]]


def words(chance: random.Random, many: int) -> list[str]:
    return chance.sample(WORDS, many)


def scalar(chance: random.Random) -> tuple[Any, Any]:
    """A value, and another of its kind."""
    number = chance.randrange(1, 99)
    one, other = words(chance, 2)
    return chance.choice(
        [(one, other), (number, number + 1), (True, False), (number + 0.5, number + 0.25)]
    )


def nested(keys: list[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def keys(chance: random.Random, n: int) -> Made:
    """Values in JSON or YAML."""
    path, at = f"{words(chance, 1)[0]}{n}.conf", words(chance, chance.randint(1, 3))
    wanted, other = scalar(chance)
    right = told({"value": nested(at, wanted)}, path)
    return Made(
        "check_json", vm(path), rule(expect=[{"key": at, "method": "eq", "ref": wanted}]), [right],
        {
            "another value": [told({"value": nested(at, other)}, path)],
            "another key": [told({"value": nested([*at[:-1], "zebra"], wanted)}, path)],
            "another file": [told({"value": nested(at, wanted)}, "zebra.conf")],
            "its text": [told({"value": nested(at, [wanted])}, path)],
            "gone": [right, told(None, path, status="gone")],
        },
    )  # fmt: skip


def compared(chance: random.Random, n: int) -> Made:
    """A number that is at least, or at most, so large."""
    path, (key,) = f"number{n}.json", words(chance, 1)
    bound, is_least = chance.randrange(-50, 50), chance.random() < 0.5
    right, wrong = (bound, bound - 1) if is_least else (bound, bound + 1)
    return Made(
        "check_json", vm(path),
        rule(expect=[{"key": [key], "method": "ge" if is_least else "le", "ref": bound}]),
        [told({"value": {key: right}}, path)],
        {
            "on the other side": [told({"value": {key: wrong}}, path)],
            "a word": [told({"value": {key: "zebra"}}, path)],
        },
    )  # fmt: skip


def prefs(chance: random.Random, n: int) -> Made:
    """What must stand in preferences, and what must not."""
    path = f"prefs{n}.js"
    key, forbidden = words(chance, 2)
    wanted, other = scalar(chance)
    bad, fine = scalar(chance)
    as_ = {"as": "prefs"}
    return Made(
        "check_thunderbird_prefs", vm(path),
        rule(expect={key: {"method": "eq", "ref": wanted}}, unexpect={forbidden: {"method": "eq", "ref": bad}}),
        [told({"value": {key: wanted, **({forbidden: fine} if chance.random() < 0.5 else {})}}, path, **as_)],
        {
            "another value": [told({"value": {key: other}}, path, **as_)],
            "what is forbidden": [told({"value": {key: wanted, forbidden: bad}}, path, **as_)],
            "cut": [told({"value": {key: wanted}}, path, cut=True, **as_)],
        },
    )  # fmt: skip


def text(chance: random.Random, n: int) -> Made:
    """Texts that stand in a file."""
    path, wanted = f"text{n}.md", words(chance, chance.randint(1, 3))
    rest = ["zebra", *wanted[1:]]
    return Made(
        "file_contains", vm(path), rule(expected=wanted), [told({"text": " and ".join(["a", *wanted, "b"])}, path)],
        {
            "without the first": [told({"text": " and ".join(rest)}, path)],
            "empty": [told({"text": ""}, path)],
            "another file": [told({"text": " ".join(wanted)}, "zebra.md")],
        },
    )  # fmt: skip


def lines(chance: random.Random, n: int) -> Made:
    """Patterns of lines, and of such that must not be there."""
    path, (word, more, bad) = f"lines{n}.txt", words(chance, 3)
    number = chance.randrange(10, 99)
    pattern, right, wrong = chance.choice([
        (f"^{word}$", word, f"{word}er"),
        (rf"{word}=\d+", f"{word}={number} ", f"{word}=x"),
        (rf"^\s*(?:{word}|{more})\b", f"  {more} it", f"no {word}"),
    ])  # fmt: skip
    return Made(
        "check_list", vm(path), rule(expect=[pattern], unexpect=[f"^{bad}"]), [told({"text": f"a\n{right}\nb"}, path)],
        {
            "another line": [told({"text": f"a\n{wrong}\nb"}, path)],
            "what is forbidden": [told({"text": f"{right}\n{bad}"}, path)],
            "cut": [told({"text": right}, path, cut=True)],
        },
    )  # fmt: skip


def table(chance: random.Random, n: int) -> Made:
    """A row of a table."""
    path, (name, other, first, second) = f"rows{n}.csv", words(chance, 4)
    head, row = [name, other], [first, str(chance.randrange(10, 99))]
    as_ = {"as": "csv"}

    def sheet(*rows: list[str]) -> list[Said]:
        return [told({"sheets": [{"rows": [head, *rows]}]}, path, **as_)]

    return Made(
        "check_csv", vm(path),
        rule(expect=[{name: {"method": "eq", "ref": row[0]}, other: {"method": "eq", "ref": row[1]}}]),
        sheet([second, "1"], row),
        {
            "in two rows": sheet([row[0], "1"], [second, row[1]]),
            "no such row": sheet([second, row[1]]),
            "only its head": sheet(),
        },
    )  # fmt: skip


def ini(chance: random.Random, n: int) -> Made:
    """A setting of VLC's."""
    function, (section, key) = chance.choice([
        ("check_qt_max_volume", ("qt", "qt-max-volume")),
        ("check_one_instance_when_started_from_file", ("core", "one-instance-when-started-from-file")),
    ])  # fmt: skip
    wanted = chance.randrange(2, 120)
    name = "expected_" + function.removeprefix("check_")

    def said(value: object) -> list[Said]:
        return [told({"value": {section: {key: str(value)}}}, VLCRC, **{"as": "ini"})]

    return Made(
        function, {"type": "vlc_config"}, rule(**{name: wanted}), said(wanted),
        {"another": said(wanted + 1), "another file": [told({"value": {section: {key: str(wanted)}}}, "v", **{"as": "ini"})]},
    )  # fmt: skip


def command(chance: random.Random, n: int) -> Made:
    """What a command says, and does not say."""
    word, more, bad = words(chance, 3)

    def line(out: str, probe: str = f"asked-{n}") -> list[Said]:
        return [
            (
                "probe.answered",
                {"probe": probe, "when": "close", "value": {"exit": 0, "out": out}, "ms": 1},
            )
        ]

    if chance.random() < 0.5:
        return Made(
            "exact_match", {"type": "vm_command_line", "command": ["echo", word]}, rule(expected=f"{word}\n"),
            line(f"{word}\n"), {"more": line(f"{word}{more}\n"), "nothing": line(""), "no answer": []},
        )  # fmt: skip
    return Made(
        "check_include_exclude", {"type": "vm_command_line", "command": f"say {word}"},
        rule(include=[word, more], exclude=[bad]), line(f"{more}/{word}\n"),
        {
            "one of two": line(f"{word}\n"), "what is forbidden": line(f"{more}{word}{bad}"), "nothing": line(""),
            "another's": line(f"{more}/{word}\n", "asked-9"),
        },
    )  # fmt: skip


def tab(chance: random.Random, n: int) -> Made:
    """An address that stands open."""
    word, more = words(chance, 2)
    url = f"https://{word}.test/{more}"
    return Made(
        "is_expected_active_tab", {"type": "active_tab_info"}, rule(type="url", url=url), [went(url, tab=f"T{n}")],
        {
            "another page": [went(f"{url}/zebra", tab=f"T{n}")],
            "another host": [went(url.replace(".test", ".test.evil"), tab=f"T{n}")],
            "left": [went(url, tab=f"T{n}"), went("https://zebra.test/", tab=f"T{n}")],
        },
    )  # fmt: skip


def chrome(chance: random.Random, n: int) -> Made:
    """A preference of Chrome's."""
    low = chance.randrange(10, 30)

    def size(number: object) -> list[Said]:
        value = {"webkit": {"webprefs": {"default_font_size": number}}}
        return [told({"value": value}, CHROME + "Preferences", **{"as": "json"})]

    return Made(
        "check_font_size", {"type": "chrome_font_size"}, rule(type="range", min=low, max=low + 4),
        size(chance.randrange(low, low + 5)), {"smaller": size(low - 1), "larger": size(low + 5), "a word": size("x")},
    )  # fmt: skip


def moved(chance: random.Random, n: int) -> Made:
    """Files that came into a folder."""
    folder, *names = words(chance, 3)

    def file(name: str, into: str = folder) -> Said:
        return created(f"{into}/{name}", root="home")

    return Made(
        "check_moved_jpgs", {"type": "list_directory", "path": f"/home/user/{folder}"}, rule(expected=names),
        [file(name) for name in names],
        {"one of two": [file(names[0])], "elsewhere": [file(name, "zebra") for name in names]},
    )  # fmt: skip


KINDS: dict[str, Callable[[random.Random, int], Made]] = {
    function.__name__: function
    for function in (keys, compared, prefs, text, lines, table, ini, command, tab, chrome, moved)
}


def unrelated(chance: random.Random) -> list[Said]:
    """What else happens on a machine."""
    word = chance.choice(WORDS)
    happens: list[Said] = [
        told({"text": word}, "zebra.txt"),
        told({"value": {word: 1}}, "zebra.json", **{"as": "json"}),
        told({"value": {"core": {"volume": "5"}}}, VLCRC, **{"as": "ini"}),
        told({"value": {"profile": {"name": "zebra"}}}, CHROME + "Preferences", **{"as": "json"}),
        created("zebra/zebra.jpg", root="home"),
        went("https://zebra.test/", tab="Z"),
        answered(chance.choice(("SUCCESS", "DONE", "FAIL"))),
    ]
    return chance.sample(happens, chance.randint(1, len(happens)))


def task_of(*made: Made, **more: Any) -> Imported:
    def side(values: list[Any]) -> Any:
        return values if len(made) > 1 else values[0]

    evaluator = {
        "func": side([one.function for one in made]),
        "result": side([one.result for one in made]),
        "expected": side([one.expected for one in made]),
        **more,
    }
    with tempfile.TemporaryDirectory() as folder:
        return imported(Path(folder), {"id": "t", "instruction": "Do.", "evaluator": evaluator})


def spec_of(*made: Made, **more: Any) -> Any:
    one = task_of(*made, **more)
    assert one.spec is not None, (made, one.remarks)
    return one.spec


def at_start(said: list[Said]) -> list[Said]:
    return [(kind, {**data, "baseline": True}) for kind, data in said]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_an_outcome_is_paid_and_nothing_else_is(kind: str, number: int) -> None:
    chance = random.Random(number)
    made = KINDS[kind](chance, 0)
    spec = spec_of(made)
    assert worth(spec, made.right) == 1.0, made
    assert worth(spec, [*unrelated(chance), *made.right, *unrelated(random.Random(number + 1))]) == 1.0 or kind in (
        "ini", "chrome"  # whose file the unrelated change writes anew
    ), made  # fmt: skip
    assert worth(spec, []) == 0.0, "nothing was done"
    assert worth(spec, unrelated(chance)) == 0.0, "something else was done"
    if kind not in ("tab", "command"):  # of which nothing is known of before
        assert worth(spec, at_start(made.right)) == 0.0, ("it was so at the start", made)
    for why, said in made.wrong.items():
        pays = None if why == "cut" else 0.0  # of what was cut nobody knows
        assert worth(spec, said) == pays, (why, made)
        if said and kind != "moved":
            assert worth(spec, [*made.right, *said]) == pays or why.startswith("another"), (
                why,
                made,
            )
            assert worth(spec, [*said, *made.right]) in (1.0, None if why == "cut" else 1.0), why


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_several_functions_are_asked_for_together_or_for_one_of_them(number: int) -> None:
    chance = random.Random(number)
    kinds = chance.sample(sorted(KINDS), 2)
    one, other = (KINDS[kind](chance, n) for n, kind in enumerate(kinds))
    for conjunction, alone in (("and", 0.0), ("or", 1.0)):
        spec = spec_of(one, other, conj=conjunction)
        assert worth(spec, []) == 0.0
        assert worth(spec, unrelated(chance)) == 0.0
        assert worth(spec, [*one.right, *other.right]) == 1.0, (conjunction, one, other)
        assert worth(spec, [*other.right, *one.right]) == 1.0, (conjunction, one, other)
        assert worth(spec, one.right) == alone, (conjunction, one, other)
        assert worth(spec, other.right) == alone, (conjunction, one, other)
        bad = chance.choice(sorted(other.wrong))
        paid = worth(spec, [*one.right, *other.wrong[bad]])
        # Nobody knows of a file that was cut; an alternative that holds beside it is paid.
        expected = None if bad == "cut" and conjunction == "and" else alone
        assert paid == expected, (bad, conjunction, one, other)


ODD: list[Any] = [
    None,
    "",
    "x",
    5,
    -1,
    True,
    [],
    {},
    [[]],
    ["x"],
    {"type": "rule"},
    "^(?=x)",
    "(",
    "../x",
    "\0",
]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_a_task_that_is_oddly_put_is_accepted_or_says_why_it_is_not(number: int) -> None:
    """A part of it is missing, or is something else; an accepted one is worth nothing where nothing was done."""
    chance = random.Random(number)
    made = KINDS[chance.choice(sorted(KINDS))](chance, 0)
    side = chance.choice(("function", "result", "expected"))
    if side == "function":
        made = made._replace(
            function=chance.choice([*ODD, "".join(chance.sample(string.ascii_lowercase, 5))])
        )
    else:
        value = dict(getattr(made, side))
        holder = (
            value
            if "rules" not in value or chance.random() < 0.3
            else value.setdefault("rules", {})
        )
        key = chance.choice(sorted(holder))
        if chance.random() < 0.3:
            del holder[key]
        else:
            holder[key] = chance.choice(ODD)
        made = made._replace(**{side: value})
    one = task_of(made)
    if one.spec is None:
        assert one.kind in ("external", "file")
        assert one.remarks[-1]
        return
    assert worth(one.spec, []) == 0.0, (made, one.spec)
    assert worth(one.spec, unrelated(chance)) == 0.0, (made, one.spec)
