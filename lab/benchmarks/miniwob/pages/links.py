"""Pages on which a link, a tab, a section, an item of a menu or of a tree is found and clicked."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from detectors.model.optional_values import without_none
from lab.benchmarks.miniwob.conditions import SUBMIT, Condition, any_of, click_condition, then
from lab.benchmarks.miniwob.instance import Instance, attribute, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import reads, state_plan

LINK = "#area span.alink"


@page("click-link", "click-tab-2-easy")
def link(instance: Instance) -> PagePlan:
    """Words of a text are links; one of them is asked for."""
    return PagePlan(
        click_condition(text=instance.quoted[0], tag="span"), once=click_condition(tag="span")
    )


@page("click-tab-2-hard", "click-collapsible-2", "click-collapsible-2-nodelay")
def link_in_section(instance: Instance) -> PagePlan:
    """The link stands in one of several tabs or sections, of which one has to be opened."""
    wanted = instance.quoted[0]
    take = click_condition(text=wanted, tag="span")
    links = [node for node in instance.all(LINK) if text(node) == wanted]
    panels = without_none(map(_panel, links))
    hidden = [panel for panel in panels if attribute(panel, "aria-hidden") == "true"]
    has_to_be_opened = len(hidden) == len(links)
    steps: list[tuple[str, Condition]] = []
    if has_to_be_opened:
        labels = [_label(instance, panel) for panel in hidden]
        opened = any_of(click_condition(role="tab", name=label) for label in labels)
        steps = [("section", opened), ("link", then(opened, take))]
    return PagePlan(take, steps, once=click_condition(tag="span"))


def _panel(node: LexborNode) -> LexborNode | None:
    """Return the panel that a node stands in, None where it stands in none."""
    here = node.parent
    while here is not None and attribute(here, "role") != "tabpanel":
        here = here.parent
    return here


def _label(instance: Instance, panel: LexborNode) -> str:
    return text(instance.first(f"#{attribute(panel, 'aria-labelledby')}"))


@page("click-tab-2-medium")
def link_or_tab(instance: Instance) -> PagePlan:
    """The link stands in the first tab; else the second tab is what to click."""
    wanted = instance.quoted[0]
    panels = [_panel(node) for node in instance.all(LINK) if text(node) == wanted]
    if any(panel is None or attribute(panel, "aria-hidden") != "true" for panel in panels):
        return PagePlan(
            click_condition(text=wanted, tag="span"),
            once=any_of([click_condition(tag="span"), click_condition(role="tab")]),
        )
    return PagePlan(
        click_condition(role="tab", name="Tab #2"),
        once=any_of([click_condition(tag="span"), click_condition(role="tab")]),
    )


@page("click-tab")
def tab(instance: Instance) -> PagePlan:
    """Clicking the named one of three tabs."""
    (name,) = instance.find(r"Click on (Tab #\d)")
    return PagePlan(click_condition(role="tab", name=name), once=click_condition(role="tab"))


@page("click-collapsible-nodelay")
def section(instance: Instance) -> PagePlan:
    """A section is to be open as the button is pressed."""
    body = """
const panels = all("#area .ui-accordion-content");
const open = panels.filter((panel) => getComputedStyle(panel).display !== "none").length === 1;
return { score: open ? 1 : -1, open };
"""
    opened = click_condition(role="tab", name=text(instance.first("#area h3")))
    plan = state_plan(body, {}, ["open"], before=[("section", opened)])
    # The press itself closes the section again: how it stood before is what counts.
    return PagePlan(then(reads("state.open"), SUBMIT), plan.steps, SUBMIT, plan.probes)


@page("click-menu")
def menu(instance: Instance) -> PagePlan:
    """A leaf of a nested menu that opens under the mouse."""
    (path,) = instance.find(r"Select (.+)$")
    *parents, leaf = path.split(">")
    take = click_condition(role="menuitem", name=leaf)
    steps = [(f"menu-{n}", _pointed(name)) for n, name in enumerate(parents, 1)]
    return PagePlan(
        take, [*steps, ("item", take)] if steps else [], once=click_condition(role="menuitem")
    )


def _pointed(name: str) -> Condition:
    item = {"element.role": "menuitem", "element.name": name}
    return any_of(
        [
            {"observed": {"kind": "element.hovered", "where": item}},
            click_condition(role="menuitem", name=name),
        ]
    )


@page("click-menu-2")
def menu_button(instance: Instance) -> PagePlan:
    """A button opens a menu; one of its items is asked for by its label or its icon."""
    opened = click_condition(role="button", name="Menu")
    label = instance.quoted[1] if len(instance.quoted) > 1 else _by_icon(instance)
    inner = [node for node in instance.all("#menu ul li") if text(node) == label]
    right = then(opened, click_condition(role="menuitem", name=label))
    deeper = [("submenu", _pointed("Playback"))] if inner else []
    return PagePlan(
        right,
        [("menu", opened), *deeper, ("item", right)],
        once=click_condition(role="menuitem", name=_leaves(instance)),
    )


def _leaves(instance: Instance) -> dict[str, list[str]]:
    return {
        "one_of": [
            text(node) for node in instance.all("#menu li") if not node.css_matches("li:has(ul)")
        ]
    }


def _by_icon(instance: Instance) -> str:
    """Return the text of the menu's item that has the icon of the question."""
    icon = next(
        name
        for name in attribute(instance.first("#query span.ui-icon"), "class").split()
        if name != "ui-icon"
    )
    item = instance.first(f"#menu span.{icon}").parent
    return text(item) if item is not None else ""


@page("navigate-tree")
def tree(instance: Instance) -> PagePlan:
    """A file or folder in a tree whose folders open by a click."""
    wanted = instance.quoted[0]
    take = click_condition(tag="span", text=wanted)
    found = [node for node in instance.all("#tree li > span") if text(node) == wanted]
    steps: list[tuple[str, Condition]] = []
    for node in found[:1]:
        for number, name in enumerate(_folders(node), 1):
            steps.append((f"folder-{number}", click_condition(tag="span", text=name)))
    if steps:
        steps.append(("item", take))
    ends = take
    files = [text(node) for node in instance.all("#tree li > span.file")]
    if files:
        ends = any_of([take, click_condition(tag="span", text={"one_of": files})])
    return PagePlan(take, steps, once=ends)


def _folders(node: LexborNode) -> list[str]:
    """The names of the folders above the item that ``node`` labels, the outermost first."""
    names: list[str] = []
    item = node.parent
    here = None if item is None else item.parent
    while here is not None and attribute(here, "id") != "tree":
        labels = [child for child in here.iter() if _is_folder_label(child)]
        if here.tag == "li":
            names[:0] = map(text, labels[:1])
        here = here.parent
    return names


def _is_folder_label(node: LexborNode) -> bool:
    """Whether ``node`` is what one clicks to open a folder."""
    return node.tag == "span" and "folder" in attribute(node, "class").split()
