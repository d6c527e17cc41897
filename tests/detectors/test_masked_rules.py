"""No rule takes what the daemon masked for another text: each rule's own table again, with one text
after the other masked as the daemon would mask it. What is known stays; nothing becomes 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from agentd.mcp.event_values import event_text, event_value
from agentd.sources.cdp.network.bodies import mask_again
from agentd.sources.cdp.state.masking import MASK, Secrets, cover
from detectors.model.kinds import KINDS
from detectors.model.rewards import episode_total
from detectors.sdk.registry import Rule, no_index, rules
from detectors.task.part_index import MIN_LEAVES
from detectors.task.ruleset import Ruleset
from tests.detectors import tables_probes
from tests.detectors.test_rules import NO, YES
from tests.support.logs import ORIGIN, Said, episode, ruleset, run

MAX_WORDS = 6
"""Words of one text that are masked by themselves."""
_WORD = re.compile(r"\w+")


class Hiding(Secrets):
    """The daemon's mask, where one text is the value of a field that a page told to be secret."""

    def __init__(self, secret: str, shown: Sequence[str]) -> None:
        super().__init__(shown=shown)
        self._secret = secret
        self._among_words = re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)")

    def is_secret(self, name: str, value: str) -> bool:
        """By its value alone, so that every other text stays."""
        return value == self._secret

    def mask_text(self, text: str) -> str:
        """As a whole, or as one of the words, however short."""
        return MASK if text.strip() == self._secret else self._among_words.sub(MASK, text)


def _mask_page(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    for name in ("url", "document"):
        if name in data:
            data[name] = masker.mask_url(str(data[name]))
    cover(kind, data, masker)


def _mask_request(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    data.update(mask_again(data, masker))
    for part in (data, *data.get("hops", ())):
        for told in (part, part.get("response", {})):
            if "headers" in told:
                told["headers"] = masker.mask_headers(told["headers"])


def _mask_texts(*names: str) -> Callable[[str, dict[str, Any], Hiding], None]:
    """Mask running texts, and name those in which something was masked."""

    def mask(kind: str, data: dict[str, Any], masker: Hiding) -> None:
        given = {name: data[name] for name in names if isinstance(data.get(name), str)}
        data.update({name: masker.mask_text(text) for name, text in given.items()})
        _name_masked(data, given)

    return mask


def _name_masked(data: dict[str, Any], given: Mapping[str, object]) -> None:
    masked = [name for name, value in given.items() if data[name] != value]
    if masked:
        data["masked"] = masked


def _mask_facts(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    if "facts" in data and "phash" not in data["facts"]:
        given = {"facts": data["facts"]}
        data["facts"] = _mask_leaves(data["facts"], masker)
        _name_masked(data, given)


def _mask_leaves(value: Any, masker: Hiding) -> Any:
    """The texts in a value; how many rows a table has is no secret."""
    if isinstance(value, dict):
        return {key: _mask_leaves(part, masker) for key, part in value.items()}
    if isinstance(value, list):
        return [_mask_leaves(part, masker) for part in value]
    return masker.mask_value("", value) if isinstance(value, str) else value


def _mask_copy(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    text = data.get("text")
    if isinstance(text, str):
        data["text"] = masker.mask_text(text)
        if data["text"] != text:
            data.pop("sha256", None)


def _mask_arguments(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    if "arguments" in data:
        given = {"arguments": data["arguments"]}
        data["arguments"] = masker.mask_arguments(data["arguments"])
        _name_masked(data, given)


def _mask_call(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    for name in ("arguments", "result"):
        if name in data:
            data[name] = event_value(data[name], masker)
    if isinstance(data.get("error"), str):
        data["error"] = event_text(data["error"], masker)


def _mask_value(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    if "value" in data:
        data["value"] = masker.mask_json(data["value"])


def _mask_screen(kind: str, data: dict[str, Any], masker: Hiding) -> None:
    for region in data.get("regions", ()):
        if "text" in region:
            region["text"] = masker.mask_text(region["text"])


_MASKS: dict[str, Callable[[str, dict[str, Any], Hiding], None]] = {
    "request": _mask_request,
    "message": _mask_texts("text"),
    "tab": _mask_page,
    "page": _mask_page,
    "dialog": _mask_page,
    "download": _mask_page,
    "element": _mask_page,
    "attribute": _mask_page,
    "field": _mask_page,
    "form": _mask_page,
    "text": _mask_page,
    "window": _mask_texts("title"),
    "widget": _mask_texts("text"),
    "notification": _mask_texts("title", "body"),
    "process": _mask_arguments,
    "clipboard": _mask_copy,
    "probe": _mask_value,
    "file.read": _mask_facts,
    "agent.tool_called": _mask_call,
    "agent.tool_returned": _mask_call,
    "screen": _mask_screen,
}
"""What a daemon masks in an event of a kind, or of a noun. Names of files and programs, what an agent
answers and the action of a step are masked by nobody."""
NEVER_MASKED = {
    "action_matches": "asterisks of the agent's own would excuse it; tool_called knows of masks",
    "answer_matches": "an answer is told by the harness, and nobody masks it",
    "answer_says": "an answer is told by the harness, and nobody masks it",
    "file_created": "names of files are never masked",
    "file_matches": "names and hashes of files are never masked",
    "image_like": "a picture's facts hold no text",
    "judge": "decided after the seal",
    "model": "decided after the seal",
    "other_file_changed": "names of files are never masked",
    "screen_like": "a picture's facts hold no text",
    "widget_state": "names and states of widgets are never masked",
}
"""Rules that read nothing that a daemon masks, and why."""


NO_SECRET = "\0"
"""What no text holds: then the daemon masks what is always masked, such as cookies."""
OF_THE_SITE = frozenset(("http", "https", "shop", "test", "other", "80", ORIGIN))
"""No secrets here: of which site a page is would not be known, and that is no rule's to judge."""


def masked(said: Sequence[Said], masker: Hiding) -> list[Said]:
    """The same events, as the daemon would have told them."""
    told: list[Said] = []
    for kind, data in said:
        mask = _MASKS.get(kind) or _MASKS.get(kind.partition(".")[0])
        data = deepcopy(data)
        if mask is not None:
            mask(kind, data, masker)
        told.append((kind, data))
    return told


def texts_in(value: object, words: int = MAX_WORDS) -> Iterator[str]:
    """Every text in some data, and every number as one; and the first ``words`` of each."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part, words)
    elif isinstance(value, str) or type(value) is int:
        yield str(value)
        yield from _WORD.findall(str(value))[:words]


def compiled(name: str, args: Any) -> Ruleset:
    """A task of the one rule; of one with an index of parts, so many conditions that it is used."""
    condition = {name: args}
    if name in ("none_of", "probe_kept"):  # alone they would pay for nothing
        condition = {
            "all_of": {"holding": True, "of": [condition, {"element_clicked": {"name": "Go"}}]}
        }
    found = rules()[name]
    has_parts = isinstance(found, Rule) and found.index_parts is not no_index
    milestones = [
        {"id": f"m{n}", "when": condition, "component": "nav"}
        for n in range(MIN_LEAVES if has_parts else 1)
    ]
    return ruleset(*milestones, weights={"nav": 1}, probes=tables_probes.PROBES)


def worth_of(task: Ruleset, said: Sequence[Said]) -> float | None:
    """What an episode of one step is worth, in thousandths; None where that is not known."""
    before = [one for one in said if one[1].get("when") == "start"]  # asked before the first step
    since = [one for one in said if one not in before]
    rewards = run(task, *episode(since, before=before))
    failed = [reward.reason for reward in rewards if "failed:" in str(reward.reason)]
    assert failed == [], said
    total = episode_total(reward.reward for reward in rewards)
    return None if total is None else round(total, 3)


@pytest.mark.parametrize("name", sorted(YES))
def test_what_a_mask_hides_is_worth_what_it_was_or_is_not_known(name: str) -> None:
    """Where a daemon masks a text of the event that a rule reads, the rule raises `UnseenError`, or
    it does not need the text: detectors/sdk/kept_back.py has what it needs for that."""
    hidden = 0
    for args, given in (*(case[:2] for case in YES[name]), *NO[name]):
        task = compiled(name, args)
        shown = task.plan("E")["cookies"]
        said = masked(given, Hiding(NO_SECRET, shown))
        known = worth_of(task, said)
        texts = {text for _, data in said for text in texts_in(data) if text.strip()}
        for secret in sorted(
            text for text in texts if text.lower() not in OF_THE_SITE and "://" not in text
        ):
            told = masked(said, Hiding(secret, shown))
            if told == said:
                continue
            hidden += 1
            worth = worth_of(task, told)
            assert worth in (known, None), (
                f"{name} with {args} is worth {known}, and {worth} where {secret!r} is masked:"
                f" {told}; nobody knows that, so that the rule must raise UnseenError"
                " (docs/how-to/add-a-rule.md, `masked`)"
            )
    assert hidden or name in NEVER_MASKED, (
        f"{name}: expected a case with a text that a daemon masks, or its reason in NEVER_MASKED"
    )


def test_no_exception_is_of_a_rule_that_is_gone() -> None:
    assert NEVER_MASKED.keys() <= set(rules())


def test_a_kind_of_the_browser_s_says_that_its_texts_may_be_masked() -> None:
    """`masked` is a field of each kind in which the daemon's mask covers one: else no rule knows of
    it."""
    for kind, about in KINDS.items():
        if about.source != "cdp":
            continue
        data: dict[str, Any] = {field.removesuffix("?"): "secret" for field in about.fields}
        data |= {name: {"name": "secret"} for name in ("element", "target", "form") if name in data}
        data.pop("masked", None)
        cover(kind, data, Hiding("secret", ()))
        assert ("masked" in data) <= ("masked?" in about.fields), kind
