"""Pages of a mail program: one mail is answered, forwarded, starred or deleted."""

from __future__ import annotations

import re
from typing import NamedTuple

from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import any_of, click_condition, clicked_at, then
from lab.benchmarks.miniwob.instance import Instance, inside, path, text
from lab.benchmarks.miniwob.plan import PagePlan, UnobservableError
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import reads, state_plan

ICON = {"delete": 1, "star": 2}


class MailRequest(NamedTuple):
    """What is asked for: reply, forward, star or delete; with the mail by whom, to whom, by which
    words."""

    task: str
    by: str
    to: str = ""
    words: str = ""


@page(
    "email-inbox",
    "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk",
    "email-inbox-important",
    "email-inbox-nl-turk",
    "email-inbox-noscroll",
    "email-inbox-reply",
    "email-inbox-star-reply",
)
def mail(instance: Instance) -> PagePlan:
    """What is asked for is said in the environment's fields, else in the utterance."""
    asked = _parse_request(instance)
    own = [
        row
        for row in instance.all("#main .email-thread")
        if text(inside(row, ".email-sender") or row) == asked.by
    ]
    if asked.task == "forward" and len(own) > 1:
        raise UnobservableError(
            f"{len(own)} mails are by {asked.by}: which of them is to be forwarded is not said"
        )
    return _icon(instance, asked) if asked.task in ICON else _sent(asked)


def _parse_request(instance: Instance) -> MailRequest:
    """Read what is to be done with which mail: from the environment's fields, else from one of
    three forms of words. Raises `BadSourceError` for other words."""
    own = {str(name): str(value) for name, value in instance.fields.items()}
    if "by" in own:
        return MailRequest(
            own.get("task", "forward"), own["by"], own.get("to", ""), own.get("message", "")
        )
    if found := re.search(
        r'email by (.+) and reply to them with the text "(.*)"', instance.utterance
    ):
        return MailRequest("reply", found[1], words=found[2])
    if found := re.search(r"email by (.+) and forward that email to (.+)\.$", instance.utterance):
        return MailRequest("forward", found[1], to=found[2])
    if found := re.search(r"email by (.+) and click the (star|trash) icon", instance.utterance):
        return MailRequest({"trash": "delete"}.get(found[2], "star"), found[1])
    raise BadSourceError(
        f"utterance: got {instance.utterance!r:.200}; in free words it needs the environment's"
        " fields"
    )


_OPEN = """
const sender = text(one("#email .email-sender")), open = !!one("#email") && sender === given.by;
"""


def _sent(asked: MailRequest) -> PagePlan:
    """An answer or a forwarded mail counts as it is sent: to whom, and with which words."""
    given = {"by": asked.by, "to": asked.to, "words": asked.words}
    if asked.task == "reply":
        body = (
            _OPEN
            + """
const form = one("#reply"), replying = !!form && text(one(".reply-sender", form)) === given.by;
const written = replying && one("#reply-text").value === given.words;
return { score: written ? 1 : -1, open, replying, written };
"""
        )
        return state_plan(
            body, given, ["open", "replying", "written"], click_condition(id="send-reply")
        )
    body = (
        _OPEN
        + """
const form = one("#forward"), forwarding = !!form && open;
const whole = forwarding && one("#forward-text").value === one("#email .email-body").textContent;
const addressed = whole && one(".forward-sender", form).value === given.to;
return { score: addressed ? 1 : -1, open, forwarding, addressed };
"""
    )
    return state_plan(
        body, given, ["open", "forwarding", "addressed"], click_condition(id="send-forward")
    )


def _icon(instance: Instance, asked: MailRequest) -> PagePlan:
    """A star or a bin: in the list beside the mail, or at the head of the opened one."""
    icon = ICON[asked.task]
    css = f".email-actions span:nth-of-type({icon})"
    rows = instance.all("#main .email-thread")
    own = [row for row in rows if text(inside(row, ".email-sender") or row) == asked.by]
    places = [path(found) for row in own if (found := inside(row, css)) is not None]
    every = [path(found) for row in rows if (found := inside(row, css)) is not None]
    head = clicked_at(f"#email-bar>div:1>span:{icon}")
    opened = reads("state.open")
    plan = state_plan(_OPEN + "return { score: 0, open };", {"by": asked.by}, [])
    right = any_of([clicked_at({"one_of": places}), then(opened, head)])
    return PagePlan(right, once=any_of([clicked_at({"one_of": every}), head]), probes=plan.probes)
