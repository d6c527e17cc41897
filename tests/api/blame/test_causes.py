"""Every cause of a failure as tables of yes and of no: what the log must show, and what is near it
and shows nothing."""

from __future__ import annotations

from typing import Any

import pytest

from api.blame.causes import BlameJson, blame
from api.blame.masking import is_episode_masked
from api.blame.obstacles import MAX_KEPT, ObstacleReader
from detectors.engine.engine import Engine
from detectors.model.rewards import reward_to_json
from detectors.task.task_json import task_to_json
from tests.support.logs import (
    Said,
    answered,
    clicked,
    episode,
    finished,
    log,
    ruleset,
    sealed,
    titled,
    went,
)

GOAL = (
    {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
    {
        "id": "done",
        "when": {"goal": {"requires": ["cart"]}},
    },
)
PENALTY = {
    "id": "spam",
    "when": {"element_clicked": {"role": "button", "name": "Spam"}},
    "penalty": 0.5,
}


def doc(path: str, status: int, **more: Any) -> Said:
    """A main document of the site is answered."""
    return finished("GET", path, status, **more)


def script(method: str, path: str, status: int, **more: Any) -> Said:
    """A script's request is answered."""
    return finished(method, path, status, type="XHR", **more)


def shows(path: str, status: int = 200, **more: Any) -> list[Said]:
    """A page is committed and its document answered."""
    return [went(path, **({"status": status} if status >= 400 else {})), doc(path, status, **more)]


def headers(**named: str) -> dict[str, Any]:
    """Headers of a response, `_` for `-`."""
    return {
        "response": {"headers": {name.replace("_", "-"): value for name, value in named.items()}}
    }


def embeds(url: str) -> Said:
    """A page loads something into a frame of its own."""
    data = {"tab": "T", "frame": "F", "request": "r9", "type": "Document", "method": "GET"}
    return ("request.finished", {**data, "status": 200, "url": url})


def redirected(url: str, *hops: str, **more: Any) -> Said:
    """A main document is answered after redirects."""
    told = [{"method": "GET", "url": hop, "status": 302, "location": url} for hop in hops]
    return finished("GET", "", 200, **{"hops": told, **more, "url": url})


def gap(source: str = "cdp", **more: Any) -> Said:
    return ("gap.began", {"source": source, "reason": "lost", **more})


def tool(name: str) -> Said:
    """The agent calls a tool."""
    return ("agent.tool_called", {"call": "c", "tool": name, "arguments": {}})


def failed(path: str, error: str) -> Said:
    """A tab could not load a page."""
    url = path if "://" in path else f"http://shop.test{path}"
    return ("page.failed", {"tab": "T", "frame": "T", "main": True, "url": url, "error": error})


def causes_of(*steps: list[Said], before: Any = (), close: bool = True, **task: Any) -> BlameJson:
    """What is blamed for an episode of these steps."""
    rules = ruleset(*GOAL, PENALTY, **task)
    events = log(*episode(*steps, before=before, close=close))
    engine = Engine(rules, "ep_1")
    rewards = [reward_to_json(reward) for reward in engine.feed(events).rewards]
    success = engine.state.success if close else None
    spec = task_to_json(rules.task)
    return blame(spec, events, rewards, closed=close, success=success)


HOME = shows("/")
HCAPTCHA = "https://newassets.hcaptcha.com/captcha/v1/frame.html"
RECAPTCHA = "https://www.google.com/recaptcha/api2/anchor"
SORRY = "https://www.google.com/sorry/index"
CASES: dict[str, tuple[list[list[Said]], str | None]] = {
    # site_refused
    "refused at first contact": ([shows("/", 403)], "site_refused"),
    "a server error": ([HOME, shows("/a", 502)], "site_refused"),
    "gone for legal reasons": ([HOME, shows("/a", 451)], "site_refused"),
    "refused, address after address": ([HOME, shows("/a", 403), shows("/b", 403)], "site_refused"),
    "a challenge by its header": (
        [HOME, shows("/a", 403, **headers(cf_mitigated="challenge"))],
        "site_refused",
    ),
    "a challenge by its header, with status 200": (
        [HOME, shows("/a", 202, **headers(x_amzn_waf_action="challenge"))],
        "site_refused",
    ),
    "a challenge by its title and what it loads": (
        [
            HOME,
            [
                *shows("/a"),
                titled("Just a moment..."),
                script("GET", "/cdn-cgi/challenge-platform/h/b/orchestrate", 200),
            ],
        ],
        "site_refused",
    ),
    "the answer came before the browser showed the page": (
        [HOME, [doc("/a", 503), went("/a", status=503)]],
        "site_refused",
    ),
    "a server error of what was sent": (
        [HOME, [clicked("Save"), script("POST", "/save", 500)]],
        "site_refused",
    ),
    "one page that is refused may be of this page": ([HOME, shows("/admin", 403)], "unknown"),
    "the same page twice is one page": (
        [HOME, shows("/admin", 403), shows("/admin", 403)],
        "unknown",
    ),
    "not found is no block": ([HOME, shows("/a", 404)], "agent"),
    "gone is no block": ([HOME, shows("/a", 410)], "agent"),
    "a bad request is no block": ([HOME, shows("/a", 400)], "agent"),
    "a form that the site does not take": ([HOME, [finished("POST", "/a", 403)]], "agent"),
    "what a user may not do": ([HOME, [script("POST", "/save", 403)]], "agent"),
    "a read of a script that fails": ([HOME, [script("GET", "/metrics", 500)]], "agent"),
    "an advertisement of others": (
        [HOME, [script("GET", "", 403, url="https://ads.test/a")]],
        "agent",
    ),
    "an advertisement's frame": (
        [HOME, [finished("GET", "", 403, frame="F", url="https://ads.test/a")]],
        "agent",
    ),
    "another site, to which the agent went": (
        [HOME, [finished("GET", "", 403, url="https://other.test/")]],
        "agent",
    ),
    "a service worker made it up": ([HOME, shows("/a", 503, served_from="worker")], "agent"),
    "made up through DevTools": ([HOME, shows("/a", 503, served_from="unknown")], "agent"),
    "from the browser's cache": ([HOME, shows("/a", 503, cached=True)], "agent"),
    "a title alone": ([HOME, [*shows("/a"), titled("Just a moment...")]], "agent"),
    "a longer title": (
        [
            HOME,
            [
                *shows("/a"),
                titled("Just a moment... of joy"),
                script("GET", "/cdn-cgi/challenge-platform/x", 200),
            ],
        ],
        "agent",
    ),
    "protection that lets everybody pass": (
        [HOME, [*shows("/a"), script("GET", "/cdn-cgi/challenge-platform/x", 200)]],
        "agent",
    ),
    "another site's challenge path": (
        [
            HOME,
            [
                *shows("/a"),
                titled("Just a moment..."),
                embeds("https://ads.test/cdn-cgi/challenge-platform/x"),
            ],
        ],
        "agent",
    ),
    "it was over": ([HOME, shows("/a", 503), shows("/a")], "unknown"),
    # rate_limited
    "too many requests": ([HOME, shows("/a", 429)], "rate_limited"),
    "unavailable, with Retry-After": (
        [HOME, shows("/a", 503, **headers(retry_after="30"))],
        "rate_limited",
    ),
    "too many requests of a script": ([HOME, [script("GET", "/api", 429)]], "rate_limited"),
    "too many requests of others": (
        [HOME, [script("GET", "", 429, url="https://ads.test/a")]],
        "agent",
    ),
    "Retry-After of a good answer": ([HOME, shows("/a", 200, **headers(retry_after="1"))], "agent"),
    "a script's next request is answered": (
        [HOME, [script("GET", "/api", 429), script("GET", "/api", 200)]],
        "unknown",
    ),
    # captcha
    "a refusal that embeds a captcha": ([HOME, [*shows("/a", 403), embeds(HCAPTCHA)]], "captcha"),
    "a captcha by its header": (
        [HOME, shows("/a", 405, **headers(x_amzn_waf_action="captcha"))],
        "captcha",
    ),
    "a challenge's title with a captcha": (
        [HOME, [*shows("/a"), titled("Robot or human?"), embeds(HCAPTCHA)]],
        "captcha",
    ),
    "redirected to a captcha": ([HOME, [redirected(SORRY, "http://shop.test/a")]], "captcha"),
    "an ordinary page that embeds one": ([HOME, [*shows("/a"), embeds(RECAPTCHA)]], "agent"),
    "a captcha in ordinary text": (
        [HOME, [*shows("/captcha-news"), titled("What is a captcha?")]],
        "agent",
    ),
    "a captcha where the agent searches": ([HOME, [redirected(SORRY, "https://x.test/")]], "agent"),
    "a host that ends like one": (
        [HOME, [*shows("/a", 404), embeds("https://newassets.hcaptcha.com.evil.test/")]],
        "agent",
    ),
    # login_wall
    "redirected to a login": (
        [HOME, [redirected("http://shop.test/login?next=/a", "http://shop.test/a")]],
        "login_wall",
    ),
    "redirected to a login of others": (
        [HOME, [redirected("https://id.test/oauth/signin.php", "http://shop.test/a")]],
        "login_wall",
    ),
    "a user and a password": ([HOME, shows("/a", 401)], "login_wall"),
    "the agent went to the login itself": ([HOME, shows("/login")], "agent"),
    "a login page that moved": (
        [HOME, [redirected("http://shop.test/sign-in", "http://shop.test/login")]],
        "agent",
    ),
    "the agent logged out": (
        [HOME, [redirected("http://shop.test/login", "http://shop.test/logout")]],
        "agent",
    ),
    "a path that has the word": (
        [HOME, [redirected("http://shop.test/blog/loginsights", "http://shop.test/a")]],
        "agent",
    ),
    "it was passed": (
        [HOME, [redirected("http://shop.test/login", "http://shop.test/a")], shows("/a")],
        "unknown",
    ),
    # infeasible
    "the agent says so": ([HOME, [answered(" FAIL ")]], "infeasible"),
    "by a tool": ([HOME, [tool("report_infeasible")]], "infeasible"),
    "by an action": (
        [HOME, [("step.began", {"step": 2, "action": {"action_type": "FAIL"}})]],
        "infeasible",
    ),
    "an answer with the word in it": ([HOME, [answered("It did not fail.")]], "agent"),
    "another tool": ([HOME, [tool("report")]], "agent"),
    # infrastructure
    "a source is lost while the agent acts": ([HOME, [gap()]], "infrastructure"),
    "the site can't be reached": (
        [[failed("/", "net::ERR_CONNECTION_REFUSED")]],
        "infrastructure",
    ),
    "a tab crashes": ([HOME, [("tab.crashed", {"tab": "T"})]], "infrastructure"),
    "another site can't be reached": (
        [HOME, [failed("http://x.test/", "net::ERR_CONNECTION_REFUSED")]],
        "agent",
    ),
    "a navigation that was stopped": ([HOME, [failed("/a", "net::ERR_ABORTED")]], "agent"),
    "a tab crashes and is loaded again": (
        [HOME, [("tab.crashed", {"tab": "T"}), *shows("/a")]],
        "unknown",
    ),
    "the harness ends its browser after the last step": (
        [HOME, [*shows("/a"), sealed(1), gap("screen")]],
        "agent",
    ),
    # agent
    "nothing stood in the way": ([HOME, shows("/a")], "agent"),
    "a penalty": ([HOME, [clicked("Spam")]], "agent"),
    # no failure
    "a success": ([HOME, shows("/cart")], None),
    "a success after a refusal": ([shows("/", 403), shows("/cart")], None),
}


@pytest.mark.parametrize("case", CASES)
def test_an_episode_s_cause(case: str) -> None:
    steps, cause = CASES[case]
    found = causes_of(*steps)
    assert found["cause"] == cause, found
    assert (found["decided_by"] == "agent") == (cause == "infeasible")
    assert bool(found["evidence"]) == (cause is not None)
    assert (found["first_failure"] is None) == (cause is None)


def test_a_login_is_no_wall_where_the_task_is_about_it() -> None:
    steps = [HOME, [redirected("http://shop.test/login", "http://shop.test/a")]]
    assert causes_of(*steps)["cause"] == "login_wall"
    assert causes_of(*steps, instruction="Log in and buy.")["cause"] == "agent"
    assert causes_of(*[HOME, shows("/a", 401)], instruction="Sign in.")["cause"] == "agent"


@pytest.mark.parametrize(
    ("declared", "cause", "decided_by"),
    [(None, "infeasible", "agent"), (False, "agent", "task"), (True, "infeasible", "task")],
)
def test_the_task_says_whether_an_agent_that_gives_up_is_right(
    declared: bool | None, cause: str, decided_by: str
) -> None:
    more = {} if declared is None else {"infeasible": declared}
    found = causes_of(HOME, [answered("infeasible")], **more)
    assert (found["cause"], found["decided_by"]) == (cause, decided_by)


def test_a_further_origin_is_the_task_s_too() -> None:
    refused = [finished("GET", "", 503, url="https://pay.test/")]
    assert causes_of(HOME, refused)["cause"] == "agent"
    assert causes_of(HOME, refused, hosts=["https://pay.test"])["cause"] == "site_refused"


def test_without_an_origin_every_main_document_is_the_task_s() -> None:
    refused = [finished("GET", "", 503, url="https://any.test/")]
    ads = [script("GET", "", 429, url="https://ads.test/")]
    home = {"id": "cart", "when": {"url_reached": {"url": "http://shop.test/cart"}}}
    for steps, cause in (([HOME, refused], "site_refused"), ([HOME, ads], "agent")):
        rules = ruleset(home, GOAL[1])
        events = log(*episode(*steps))
        rewards = [reward_to_json(one) for one in Engine(rules, "e").feed(events).rewards]
        spec = {**task_to_json(rules.task), "origin": None}
        assert blame(spec, events, rewards, closed=True, success=False)["cause"] == cause


def test_where_an_episode_failed_first() -> None:
    """The obstacle that stood at the end, from where it began: not an earlier one, nor its
    repetition."""
    found = causes_of(shows("/a", 503), HOME, shows("/b", 429), shows("/c", 429))
    assert (found["cause"], found["evidence"]) == ("rate_limited", [10])
    assert found["first_failure"] == {"step": 2, "event": 10}
    assert not found["at_first_contact"]
    early = causes_of([], before=shows("/", 503))
    assert early["first_failure"] == {"step": None, "event": 3}
    assert early["at_first_contact"]


def test_steps_have_causes_of_their_own() -> None:
    """What stood at a step's end; what was paid has none, what took something is the agent's."""
    found = causes_of(
        HOME, shows("/a", 503), [], [clicked("Spam")], [went("/"), doc("/", 200)], [gap()]
    )
    told = [(one["step"], one["cause"]) for one in found["steps"]]
    assert told == [
        (0, None),
        (1, "site_refused"),
        (2, "site_refused"),
        (3, "agent"),
        (4, None),
        (5, "infrastructure"),
    ]
    refused = causes_of(HOME, [*shows("/a", 503), went("/cart")], [])["steps"]
    assert [one["cause"] for one in refused][:2] == [None, None], "a step that paid did not fail"


def test_what_has_not_ended_or_can_t_fail_has_no_cause() -> None:
    assert causes_of(shows("/", 503), close=False)["cause"] is None
    rules = ruleset(GOAL[0])
    events = log(*episode(shows("/", 503)))
    spec = task_to_json(rules.task)
    found = blame(spec, events, [], closed=True, success=None)
    assert (found["cause"], found["reason"]) == (
        None,
        "the task has no goal, so that no end of it is a failure",
    )


def test_hostile_data_is_no_sign_and_memory_is_bounded() -> None:
    odd: list[Any] = [None, -1, "503", [], {}, True, "x" * 10_000, {"headers": []}]
    reader = ObstacleReader(["http://shop.test"], is_login_asked=False)
    said = [
        ("request.finished", {**doc("/", 200)[1], name: value})
        for name in ("status", "hops", "response", "url", "tab", "served_from")
        for value in odd
    ]
    said += [titled(value) for value in odd] + [answered(value) for value in odd]
    said += [("step.began", {"step": value, "action": value}) for value in odd]
    said += [gap(value) for value in odd]
    for event in log(*said):
        reader.apply(event)
    assert reader.findings().claim == 0
    anywhere = ObstacleReader([], is_login_asked=False)
    many = [
        finished("GET", "", 503, tab=str(n), frame=str(n), url=f"http://h{n}.test/")
        for n in range(500)
    ]
    for event in log(*many):
        anywhere.apply(event)
    tables = (anywhere._standing, anywhere._pages, anywhere._answered, anywhere._refused)
    assert max(map(len, tables)) == MAX_KEPT


def test_what_a_stage_may_still_decide_has_no_cause() -> None:
    rules = ruleset(*GOAL)
    events = log(*episode(shows("/", 503)))
    (reward,) = [reward_to_json(one) for one in Engine(rules, "ep_1").feed(events).rewards]
    pending = {**reward, "status": "escalating", "reward": None, "mask": True}
    spec = task_to_json(rules.task)
    found = blame(spec, events, [pending], closed=True, success=None)  # type: ignore[list-item]
    assert (found["cause"], found["steps"][0]["cause"]) == (None, None)
    assert found["reason"] == "a stage of the cascade has not answered yet"


def test_a_penalty_that_was_seen_in_a_null_step_keeps_the_episode_from_being_masked() -> None:
    rules = ruleset(*GOAL, PENALTY)
    events = log(*episode([*shows("/", 503), clicked("Spam")], []))
    rewards = [reward_to_json(one) for one in Engine(rules, "ep_1").feed(events).rewards]
    rewards[0]["reward"], rewards[0]["status"] = None, "unobserved"
    spec = task_to_json(rules.task)
    found = blame(spec, events, rewards, closed=True, success=False)
    assert found["cause"] == "site_refused"
    assert not is_episode_masked(rewards, found, ["site_refused"])
    rewards[0]["milestones"] = []
    assert is_episode_masked(rewards, found, ["site_refused"])
