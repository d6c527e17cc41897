"""Task files: what is refused, with line, path, value and what was wanted; and that the schema says
the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from api.tasks.schema import task_schema
from api.tasks.task_files import BadTaskError, check_task, load_task_yaml
from detectors.task.task_json import task_from_json, task_to_json
from tests.support.examples import examples

# Built once: the check of the schema itself takes a second.
SCHEMA = jsonschema.Draft202012Validator(task_schema())
ROOT = Path(__file__).parent.parent.parent
GOOD = """\
id: shop/buy
version: "1"
instruction: Buy the lamp.
origin: http://shop.test
weights: {nav: 0.5, answer: 0.5}
settings: {quiet_ms: 20}
milestones:
  - id: page
    when: {url_reached: {url: /lamp}}
  - id: both
    weight: 2
    after: [page]
    when:
      all_of:
        - element_clicked: {role: button, name: {contains: Add}}
        - field_filled: {field: Terms, checked: true}
  - id: order
    when: {request_accepted: {method: POST, url: /orders, status: [2xx, 404], body: {name: Ada, qty: 2}}}
    revoke_on: {dialog_answered: {type: confirm, accepted: true}}
  - id: file
    repeat: 2
    when: {file_matches: {name: {glob: "*.csv"}, size: {min: 1}}}
  - id: form
    when: {form_filled: {fields: {Name: Ada, Terms: true}}}
  - id: said
    when: {answer_matches: {text: {number: 3, tolerance: 0.5}}}
  - id: wrong
    penalty: 0.1
    when: {any_of: {of: [{text_visible: {text: {one_of: [a, b], ignore_case: true}}}]}}
  - id: done
    when: {goal: {requires: [page, order], when: {none_of: [{file_created: {name: x}}]}}}
  - id: saved
    when: {probe_answers: {probe: cart, path: body.items.0.id, value: {min: 7}}}
probes:
  - {id: cart, get: /api/cart}
  - {id: theme, script: {url: "/*", expression: document.title}, when: [step], budget_ms: 200}
  - {id: notes, file: {root: home, path: notes.json, as: json}, when: [close]}
  - {id: fonts, command: {argv: [fc-list, ":lang=de"]}}
"""

BAD = {
    "unknown key": ("version:", "verison:", 'line 2: verison: got \'1\', wanted no such key (did you mean version?); there are id, version, instruction, origin'),
    "missing key": ("instruction: Buy the lamp.\n", "", "line 1: instruction: got None, wanted this key"),
    "version a number": ('"1"', "1", "line 2: version: got 1, wanted a text such as \"1\" (quote it)"),
    "bad id": ("id: page", "id: a page", "line 8: milestones[0].id: got 'a page', wanted letters, digits"),
    "same id": ("id: both", "id: page", "line 10: milestones[1].id: got 'page', wanted an id that no other"),
    "nearly a rule": ("url_reached:", "url_reach:", "line 9: milestones[0].when.url_reach: got 'url_reach', wanted a rule (did you mean url_reached?); there are action_matches, address_says"),
    "no such rule": ("url_reached:", "url_visited:", "line 9: milestones[0].when.url_visited: got 'url_visited', wanted a rule; there are action_matches, address_says, all_of, answer_matches"),
    "no such argument": ("{url: /lamp}", "{link: /lamp}", "line 9: milestones[0].when.url_reached.link: got '/lamp', wanted no such argument; there are url, frames"),
    "argument missing": ("{url: /lamp}", "{}", "line 9: milestones[0].when.url_reached.url: got None, wanted this argument"),
    "no origin": ("origin: http://shop.test\n", "", "line 8: milestones[0].when.url_reached.url: got '/lamp', wanted a whole address"),
    "no address": ("url: /lamp", "url: lamp", "line 9: milestones[0].when.url_reached.url: got 'lamp', wanted a whole address"),
    "bad matcher": ("{contains: Add}", "{matches: Add}", "line 15: milestones[1].when.all_of.of[0].element_clicked.name: got {'matches': 'Add'}, wanted a text, or one of"),
    "empty contains": ("{contains: Add}", '{contains: ""}', "got '', wanted a text that is not empty"),
    "not a box": ("checked: true", "checked: on-ish", "line 16: milestones[1].when.all_of.of[1].field_filled.checked: got 'on-ish', wanted true or false"),
    "value and checked": ("checked: true", "checked: true, value: x", "wanted either value or checked"),
    "after nobody": ("after: [page]", "after: [pages]", "line 12: milestones[1].after: got 'pages', wanted another milestone's id; there are page, both"),
    "goal of nobody": ("requires: [page, order]", "requires: [page, orders]", "line 31: milestones[7].when: got 'orders', wanted another milestone's id"),
    "bad status": ("[2xx, 404]", "[2xx, ok]", "wanted a status such as 201"),
    "bad range": ("{min: 1}", "{min: 3, max: 1}", "min not above max"),
    "bad dialog": ("type: confirm", "type: question", "wanted one of alert, confirm, prompt, beforeunload"),
    "penalty 0": ("penalty: 0.1", "penalty: 0", "line 28: milestones[6].penalty: got 0, wanted a number above 0"),
    "repeat a word": ("repeat: 2", "repeat: twice", "line 21: milestones[3].repeat: got 'twice', wanted a whole number"),
    "weight of nothing": ("{nav: 0.5, answer: 0.5}", "{nav: 0.5}", "line 25: milestones[5].component: got 'answer', wanted a weight for it: give weights.answer"),
    "negative weight": ("nav: 0.5", "nav: -0.5", "line 5: weights.nav: got -0.5, wanted a number from 0"),
    "unknown component": ("nav: 0.5", "navigation: 0.5", "line 5: weights.navigation"),
    "long settle": ("quiet_ms: 20", "quiet_ms: 99999", "line 6: settings.quiet_ms: got 99999, wanted milliseconds"),
    "key twice": ('version: "1"', 'version: "1"\nversion: "2"', "line 3: (YAML): got the key 'version' is given twice"),
    "braces": ("origin: http://shop.test", "origin: {{origin}}", "line 4: (YAML): got a key is a name; a value that begins with a brace wants quotes"),
    "a year as a key": ("{url: /lamp}", "{url: {path: /lamp, query: {2024: x}}}", "line 9: (YAML): got a key is a name; '2024' wants quotes"),
    "a word as a key": ("{url: /lamp}", "{url: {path: /lamp, query: {no: x, b: y}}}", "line 9: (YAML): got a key is a name; 'no' wants quotes"),
    "a list in a potential": ("probes:", "shaping: {potential: [[nav]]}\nprobes:", "line 34: shaping.potential: got [['nav']], wanted a list of components with milestones"),
    "a path that is none": ("{url_reached: {url: /lamp}}", "{url_reached: {url: /lamp}}\n  - id: asked\n    component: nav\n    when: {request_answered: {url: {any: [{address: 'http://shop.test/'}]}, body: [{json: 5, is: null}]}}", "line 12: milestones[1].when.request_answered.body[0].json: got 5, wanted a JSON Path"),
    "a name that is none": ("{url_reached: {url: /lamp}}", "{url_reached: {url: /lamp}}\n  - id: asked\n    component: nav\n    when: {request_answered: {url: {any: [{address: 'http://shop.test/'}]}, body: [{name: [a], is: null}]}}", "line 12: milestones[1].when.request_answered.body[0].name: got ['a'], wanted a field's name"),
    "a number of base 60": ("penalty: 0.1", "penalty: 1:30", "line 28: milestones[6].penalty: got '1:30', wanted a number above 0"),
    "no end": ("penalty: 0.1", "penalty: .inf", "line 28: (YAML): got .inf, wanted a finite number below 2^63"),
    "many digits": ("penalty: 0.1", "penalty: " + "9" * 5_000, "… of 5000 characters, wanted a finite number below 2^63"),
    "many hexadecimal digits": ("penalty: 0.1", "penalty: 0x" + "f" * 5_000, "… of 5002 characters, wanted a finite number below 2^63"),
    "deep": ("{nav: 0.5, answer: 0.5}", "[" * 50_000, "line 5: (YAML): got values nested 65 deep, wanted at most 64"),
    "aliases": ("{nav: 0.5, answer: 0.5}", "{a: &a [x,x,x,x,x,x,x,x,x,x], " + ", ".join(f"{c}: &{c} [{','.join([f'*{b}'] * 10)}]" for b, c in zip("abcdefgh", "bcdefghi", strict=True)) + "}", "line 5: (YAML): got more than 100000 values, wanted at most 100000"),
    "no such number": ("instruction: Buy the lamp.", "instruction: !!int x", "invalid literal for int()"),
    "a time that is none": ("instruction: Buy the lamp.", "instruction: !!timestamp x", "could not determine a constructor for the tag"),
    "itself": ("{nav: 0.5, answer: 0.5}", "&x [*x]", "wanted nesting that ends"),
    "no YAML": ("id: shop/buy", "id: [shop/buy", "line 2: (YAML)"),
    "no milestones": (GOOD[GOOD.index("  - id: page") :], "", "line 7: milestones: got None, wanted a list of at least one milestone"),
    "no such probe": ("probe: cart", "probe: card", "line 33: milestones[8].when.probe_answers.probe: got 'card', wanted a probe of the task; there are cart, theme, notes, fonts"),
    "a probe of two kinds": ("get: /api/cart", "get: /api/cart, file: {root: a, path: b}", "line 35: probes[0]: got {'id'"),
    "a probe of no kind": ("get: /api/cart", "put: /api/cart", "wanted an object with id and one of script, get, file, command"),
    "a probe twice": ("id: theme", "id: cart", "line 36: probes[1].id: got 'cart', wanted an id that no other probe"),
    "a probe of another site": ("get: /api/cart", "get: ftp://x/", "line 35: probes[0].get.url: got 'ftp://x/', wanted an address that begins with http://"),
    "a probe never": ("when: [step]", "when: [now]", "line 36: probes[1].when: got ['now'], wanted a list of start, step, close"),
    "a probe without a budget": ("budget_ms: 200", "budget_ms: 0", "line 36: probes[1].budget_ms: got 0, wanted milliseconds, a whole number from 1 to 5000"),
    "a probe out of its folder": ("path: notes.json", "path: ../notes.json", "line 37: probes[2].file.path: got '../notes.json', wanted a path relative"),
    "a probe as pictures": ("as: json", "as: png", "line 37: probes[2].file.as: got 'png', wanted text or json"),
    "a command line": ('[fc-list, ":lang=de"]', "fc-list :lang=de", "line 38: probes[3].command.argv: got 'fc-list :lang=de', wanted a program and its arguments"),
    "a script without an address": ('url: "/*", ', "", "line 36: probes[1].script.url: got None, wanted this key"),
    "a probe's odd key": ("root: home", "root: home, mode: r", "line 37: probes[2].file.mode: got 'r', wanted no such key; there are root, path, as"),
    "nested goal": ("url_reached: {url: /lamp}", "all_of: [{goal: {requires: [both]}}]", "got 'goal', wanted a rule"),
}  # fmt: skip

# What a schema of single values can't say: references between milestones, names that depend on
# others, YAML itself.
BEYOND_SCHEMA = {
    "a number of base 60",
    "same id", "no origin", "no address", "after nobody", "goal of nobody", "bad range", "weight of nothing",
    "key twice", "no YAML", "braces", "no end", "many digits", "many hexadecimal digits", "deep", "aliases", "a year as a key", "a word as a key", "no such number", "a time that is none", "itself", "empty contains", "value and checked", "no such probe", "a probe twice",
    "a probe of another site", "a probe out of its folder",
}  # fmt: skip


def test_a_good_task_is_read_and_its_canonical_form_is_the_same_task() -> None:
    """Reading, writing out and reading again."""
    task = load_task_yaml(GOOD)
    assert task_from_json(task_to_json(task)) == task
    assert [m.component for m in task.milestones] == [
        "nav",
        "ui",
        "form",
        "file",
        "form",
        "answer",
        "ui",
        "goal",
        "goal",
    ]
    SCHEMA.validate(yaml.safe_load(GOOD))
    SCHEMA.validate(task_to_json(task))


@pytest.mark.parametrize(("old", "new", "said"), BAD.values(), ids=BAD)
def test_a_bad_task_is_refused_with_line_path_value_and_what_was_wanted(
    old: str, new: str, said: str
) -> None:
    """One mistake at a time."""
    assert GOOD.count(old) >= 1
    with pytest.raises(BadTaskError) as refused:
        load_task_yaml(GOOD.replace(old, new, 1))
    assert said in str(refused.value)


@pytest.mark.parametrize("name", sorted(set(BAD) - BEYOND_SCHEMA))
def test_the_schema_refuses_it_too(name: str) -> None:
    """So that an editor marks it before anybody runs the check."""
    old, new, _ = BAD[name]
    spec = yaml.safe_load(GOOD.replace(old, new, 1))
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(spec)


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody likes to be told one a run."""
    text = (
        GOOD.replace("penalty: 0.1", "penalty: 0")
        .replace("repeat: 2", "repeat: 0")
        .replace("nav: 0.5", "nav: x")
    )
    with pytest.raises(BadTaskError) as refused:
        load_task_yaml(text)
    assert [p.line for p in refused.value.problems] == [5, 21, 28]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "when", "goal", "all_of", "of", "url_reached", "url", "x"]), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=examples(300))
@given(
    st.sampled_from(["id", "weights", "credit", "settings", "milestones", "when", "origin"]),
    json_values,
)
def test_any_json_is_a_task_or_is_refused(key: str, value: Any) -> None:
    """No value crashes the check."""
    spec = yaml.safe_load(GOOD)
    target = spec["milestones"][0] if key == "when" else spec
    target[key] = value
    try:
        task = check_task(spec)
    except BadTaskError:
        return
    SCHEMA.validate(task_to_json(task))


def test_the_published_schema_is_the_code_s_and_the_examples_are_good() -> None:
    """docs/task.schema.json and every task file in examples/."""
    run = [sys.executable, "-m", "api.cli.main", "task"]
    printed = subprocess.run([*run, "schema"], capture_output=True, cwd=ROOT, check=True).stdout
    assert printed == (ROOT / "docs" / "task.schema.json").read_bytes()
    files = [str(p) for p in sorted((ROOT / "examples").rglob("*.yaml"))]
    checked = subprocess.run(
        [*run, "check", *files], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count(": ok:") == len(files) > 0


def test_the_command_names_the_file_and_exits_with_1(tmp_path: Path) -> None:
    """One good, one bad, one missing."""
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("penalty: 0.1", "penalty: 0"))
    run = [
        sys.executable,
        "-m",
        "api.cli.main",
        "task",
        "check",
        str(good),
        str(bad),
        str(tmp_path / "none.yaml"),
    ]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert "good.yaml: ok: shop/buy version 1, 9 milestones" in done.stdout
    assert "bad.yaml: line 28: milestones[6].penalty: got 0, wanted a number above 0" in done.stderr
    assert "none.yaml: No such file or directory" in done.stderr


@pytest.mark.parametrize(("member", "most"), [("id", 512), ("version", 256)])
def test_ids_and_versions_are_as_long_as_the_database_has_room_for(member: str, most: int) -> None:
    """On Postgres one more character was an error of the driver; an id has parts of at most 64."""
    spec = yaml.safe_load(GOOD)
    for length in (most, most + 1):
        good = length == most
        odd = {**spec, member: ("abcdefg/" * 100)[: length - 1] + "x"}
        assert SCHEMA.is_valid(odd) == good
        if good:
            assert getattr(check_task(odd), member) == odd[member]
        else:
            with pytest.raises(BadTaskError, match=f"{member}: .*{most}"):
                check_task(odd)


def test_a_milestone_s_id_is_bounded_as_well() -> None:
    spec = yaml.safe_load(GOOD)
    spec["milestones"][0]["id"] = "abcdefg/" * 64 + "x"
    assert not SCHEMA.is_valid(spec)
    with pytest.raises(BadTaskError, match="at most 512"):
        check_task(spec)


@pytest.mark.parametrize("version", ["\0", "a\0b"])
def test_a_version_holds_no_nul(version: str) -> None:
    """SQLite kept what Postgres can't hold."""
    with pytest.raises(BadTaskError, match="version: "):
        check_task({**yaml.safe_load(GOOD), "version": version})
