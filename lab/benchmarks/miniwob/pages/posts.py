"""Pages of short posts: an icon or an item of a menu at the posts of one user."""

from __future__ import annotations

from detectors.model.json_value import JsonObject
from lab.benchmarks.miniwob.conditions import any_of, click_condition, clicked_at
from lab.benchmarks.miniwob.instance import Instance, inside, path, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import score_condition, state_plan

ICONS = ("Reply", "Retweet", "Like")


@page("social-media")
def one_post(instance: Instance) -> PagePlan:
    """An icon, or an item of the menu that opens at a post."""
    user, action = instance.find(r'^For the user (\S+), click on the "(.+)" button')
    posts = instance.all("#area .media")
    own = [post for post in posts if text(inside(post, ".username") or post) == user]
    if action in ICONS:
        places = [
            path(found) for post in own if (found := inside(post, f".{action.lower()}")) is not None
        ]
        ends = [
            path(found)
            for post in posts
            for name in ICONS
            if (found := inside(post, f".{name.lower()}")) is not None
        ]
        return PagePlan(
            clicked_at({"one_of": places}),
            once=any_of([click_condition(tag="li"), clicked_at({"one_of": ends})]),
        )
    body = """
const open = all("#area .media").filter((post) => !has(one("ul", post), "hide"));
const own = open.length > 0 && open.every((post) => text(one(".username", post)) === given.user);
return { score: own ? 1 : -1, open: own };
"""
    words = f"{action} {user}" if action in ("Mute", "Block") else action
    press = click_condition(tag="li", text=words)
    plan = state_plan(body, {"user": user}, ["open"], press)
    return PagePlan(
        plan.goal,
        [*plan.steps, ("chosen", score_condition(press, 1.0))],
        click_condition(tag="li"),
        plan.probes,
    )


@page("social-media-all", "social-media-some")
def posts_of_user(instance: Instance) -> PagePlan:
    """An icon at all posts of a user, or at so many of them, and nothing else."""
    action, many, user = instance.find(
        r'^Click the "(\w+)" button on (all|\d+) posts? by (\S+) and'
    )
    own = [text(inside(post, ".username") or post) == user for post in instance.all("#area .media")]
    given: JsonObject = {
        "own": own,
        "icon": action.lower(),
        "many": sum(own) if many == "all" else int(many),
    }
    body = """
const names = ["reply", "retweet", "like", "share"];
const icons = all("#area .media").map((post) => names.map((name) => [name, has(one("." + name, post), "active")]));
const good = icons.filter((post, n) => given.own[n] && post.some(([name, on]) => on && name === given.icon)).length;
const bad = icons.some((post, n) => post.some(([name, on]) => on && !(given.own[n] && name === given.icon)));
const every = !bad && good === given.many;
return { score: every ? 1 : -1, begun: !bad && good > 0, every };
"""
    return state_plan(
        body, given, ["begun", "every"], click_condition(role="button", name="Submit")
    )
