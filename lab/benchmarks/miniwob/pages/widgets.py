"""Pages with a widget of their own: colour wheels, a text editor, selected text, a terminal."""

from __future__ import annotations

import json
import re

from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import Condition
from lab.benchmarks.miniwob.instance import Instance, attribute
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import TWENTIETHS, score_condition, state_plan

_WHEEL = """
const parts = (hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
const now = parts(one("#col").value.toLowerCase()), off = now.map((part, n) => Math.abs(part - given.color[n]));
const score = 1 - off.reduce((sum, part) => sum + part, 0) / 255 / 3;
const start = given.start.map((part, n) => Math.abs(part - given.color[n])).reduce((sum, part) => sum + part, 0);
const nearer = off.reduce((sum, part) => sum + part, 0) < start;
return { score, nearer, near: nearer && score >= 0.9 };
"""
NAMED = {
    "black": "000000", "white": "ffffff", "aqua": "00ffff", "blue": "0000ff", "gray": "808080",
    "green": "008000", "lime": "00ff00", "maroon": "800000", "navy": "000080", "olive": "808000",
    "purple": "800080", "red": "ff0000", "silver": "c0c0c0", "teal": "008080", "yellow": "ffff00",
    "pink": "ffc0cb", "magenta": "ff00ff", "gold": "ffd700", "orange": "ffa500",
}  # fmt: skip
"""CSS Color Module Level 4, section 6.1."""


@page("use-colorwheel", "use-colorwheel-2")
def wheel(instance: Instance) -> PagePlan:
    """A colour is set on a wheel; the page pays by how near it comes, whatever is chosen."""
    sample = instance.all("#query .cc")
    if sample:
        color = attribute(sample[0], "style").split("background-color:")[1].strip(" ;")
    else:
        color = "#" + NAMED.get(instance.find(r"^Select (\w+) with the color picker")[0], "")
    start = attribute(instance.first("#col"), "value")
    given = {"color": _rgb(color), "start": _rgb(f"#{start}")}
    return state_plan(_WHEEL, given, ["nearer", "near"], tiers=TWENTIETHS)


def _rgb(color: str) -> list[int]:
    """The three parts of `#rrggbb` or `rgb(r, g, b)`. Raises `BadSourceError`."""
    if re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        return [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    numbers = r"\D*(\d+)\D+(\d+)\D+(\d+)\D*"
    parts = re.fullmatch(f"rgb{numbers}", color)
    if parts is None:
        raise BadSourceError(
            f"colour: got {color!r}, wanted #rrggbb, rgb(r, g, b) or a name of CSS"
        )
    return [*map(int, parts.groups())]


@page("highlight-text")
def highlighted(instance: Instance) -> PagePlan:
    """A whole paragraph is selected, and stays so as the button is pressed."""
    wanted = "".join(instance.first("#randomText").text().split())
    body = """
const chosen = getSelection().toString().replace(/\\s/g, ""), whole = chosen === given.wanted;
return { score: whole ? 1 : -1, begun: chosen !== "" && given.wanted.includes(chosen), whole };
"""
    return state_plan(body, {"wanted": wanted}, ["begun", "whole"])


_RUNS = """
const runs = [];
const styles = { STRONG: "bold", EM: "italic", U: "underline" };
const walk = (node, own) => {
  if (node.nodeType === 3) {
    const last = runs[runs.length - 1], key = JSON.stringify(own);
    if (last && last.key === key) last.text += node.data;
    else runs.push({ key, own, text: node.data });
    return;
  }
  const next = own.slice(), style = styles[node.tagName], color = node.tagName === "BR" ? "" : node.style.color;
  if (style) next.push(style);
  if (color) next.push(color.replace(/\\s/g, ""));
  next.sort();
  for (const child of Array.from(node.childNodes)) walk(child, next);
};
walk(one(".ql-editor p"), []);
const bare = (said) => said.replace(/\\s/g, "");
const fits = (run) => run.own.length === 1 && given.styles.includes(run.own[0]);
const own = given.word ? runs.filter((run) => bare(run.text) === bare(given.word)).pop() : runs[0];
const styled = !!own && fits(own) && (!!given.word || own.text === given.all);
const others = runs.filter((run) => run !== own).every((run) => run.own.length === 0);
const begun = runs.some((run) => run.own.some((style) => given.styles.includes(style)));
return { score: styled && (others || !given.word) ? 1 : -1, begun, styled };
"""


@page("text-editor")
def edited(instance: Instance) -> PagePlan:
    """A word, or all, of a text is given a style or a colour."""
    found = instance.find(
        r"(?:give|make) (?:the text )?(.+?)(?: the (style|color)) (\w+) *(?:and press Submit)?\.?$"
    )
    word, kind, how = found
    if kind == "color":
        table = instance.source("COLOR_MAP", "{")
        names = json.loads(re.sub(r"(\w+):", r'"\1":', table).replace("'", '"'))
        styles = ["rgb({},{},{})".format(*_rgb(color)) for color in names[how]]
    else:
        styles = [{"bold": "bold", "italics": "italic", "underlined": "underline"}[how]]
    given = {
        "word": "" if word == "everything" else word,
        "all": instance.first(".ql-editor p").text(),
        "styles": styles,
    }
    return state_plan(_RUNS, given, ["begun", "styled"])


@page("terminal")
def terminal(instance: Instance) -> PagePlan:
    """A file with a given ending is deleted by a typed command; the terminal shows every line."""
    found = re.search(r"with the extension \.(.+)$", instance.utterance)
    ending = found[1] if found else ""
    body = """
const lines = Array.from(one("#terminal-contents").children), said = [];
for (const line of lines) {
  if (has(line, "terminal-line") && !one("#active-input", line)) said.push([text(one(".command", line)), ""]);
  else if (has(line, "terminal-output") && said.length) said[said.length - 1][1] += text(line);
}
const listed = said.some((pair) => pair[0] === "ls" && pair[1] !== "");
const typed = text(one("#active-input")), last = said.length ? said[said.length - 1] : ["", ""];
const file = last[0].startsWith("rm ") ? last[0].split(" ")[1] : "", removed = file !== "" && last[1] === "";
const ends = given.ending ? file.endsWith(given.ending) : !file.includes(".");
const tried = typed.startsWith("rm ") || said.some((pair) => pair[0].startsWith("rm "));
return { score: removed && ends ? 1 : -1, listed, tried };
"""
    press: Condition = {
        "observed": {"kind": "field.filled", "where": {"element.id": "terminal-target"}}
    }
    plan = state_plan(body, {"ending": ending}, ["listed", "tried"], press)
    # Enter leaves no trace in the field: what was typed in the step before is the user's part in
    # it.
    return PagePlan(score_condition(press, 1.0, steps=1), plan.steps, None, plan.probes)
