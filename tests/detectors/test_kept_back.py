"""A condition that hangs on what was kept back is neither true nor false: the step is null, not 0."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.sdk.kept_back import SECRET_COPY, SECRET_VALUE
from tests.support.logs import Said, episode, filled, ruleset, run

COPIED: dict[str, Any] = {"selection": "clipboard", "app": "vault", "types": ["text"]}
KEPT: Said = ("clipboard.changed", {**COPIED, "unread_reason": "secret"})
READ: Said = ("clipboard.changed", {**COPIED, "text": "abc", "length": 3})
GRADE = {"f1": "abc"}


def secret(name: str = "Password") -> Said:
    kind, data = filled(name, "abc")
    return kind, {**data, "value": None, "has_value": True}


def observed(kind: str, **where: Any) -> dict[str, Any]:
    return {"observed": {"kind": kind, "where": where}}


def cel(kind: str, expression: str) -> dict[str, Any]:
    return {"cel": {"kind": kind, "expression": expression}}


def graded(kind: str, value: str, **more: Any) -> dict[str, Any]:
    return {"graded": {"kind": kind, "value": value, "grade": GRADE, **more}}


FIELD, CLIPBOARD = "field.filled", "clipboard.changed"
NOT_KNOWN = {
    "observed, a field": (observed(FIELD, value="abc"), secret(), SECRET_VALUE),
    "observed, of this field": (observed(FIELD, **{"value": "abc", "element.name": "Password"}), secret(), SECRET_VALUE),
    "observed, a copy": (observed(CLIPBOARD, text="abc"), KEPT, SECRET_COPY),
    "cel, a field": (cel(FIELD, "data.value == 'abc'"), secret(), SECRET_VALUE),
    "cel, of this field": (cel(FIELD, "data.element.name == 'Password' && data.value == 'abc'"), secret(), SECRET_VALUE),
    "cel, a copy": (cel(CLIPBOARD, "data.text == 'abc'"), KEPT, SECRET_COPY),
    "graded, a field": (graded(FIELD, "value"), secret(), SECRET_VALUE),
    "graded, a copy": (graded(CLIPBOARD, "text"), KEPT, SECRET_COPY),
    "graded, where the secret says which": (graded(CLIPBOARD, "app", where={"text": "abc"}), KEPT, SECRET_COPY),
}  # fmt: skip
KNOWN = {
    "observed, another field": (observed(FIELD, **{"value": "abc", "element.name": "City"}), secret(), 0.0),
    "observed, not by its value": (observed(FIELD, **{"element.name": "Password"}), secret(), 1.0),
    "observed, a secret is there": (observed(FIELD, has_value=True), secret(), 1.0),
    "observed, a field that was read": (observed(FIELD, value="abc"), filled("City", "abc"), 1.0),
    "observed, a copy that was read": (observed(CLIPBOARD, text="xyz"), READ, 0.0),
    "cel, another field": (cel(FIELD, "data.element.name == 'City' && data.value == 'abc'"), secret(), 0.0),
    "cel, not by its value": (cel(FIELD, "data.element.name == 'Password'"), secret(), 1.0),
    "cel, a copy that was read": (cel(CLIPBOARD, "data.text == 'xyz'"), READ, 0.0),
    "graded, another field": (graded(FIELD, "value", where={"element.name": "City"}), secret(), 0.0),
    "graded, a field that was read": (graded(FIELD, "value"), filled("City", "abc"), 1.0),
    "graded, a copy that was read": (graded(CLIPBOARD, "text"), READ, 1.0),
}  # fmt: skip


def steps_of(when: dict[str, Any], said: Said) -> Any:
    (reward,) = run(
        ruleset({"id": "m", "component": "ui", "when": when}, weights={"ui": 1}), *episode([said])
    )
    return reward


@pytest.mark.parametrize(("when", "said", "why"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_hangs_on_a_secret_is_null_with_its_reason(
    when: dict[str, Any], said: Said, why: str
) -> None:
    reward = steps_of(when, said)
    assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
    assert why in reward.reason


@pytest.mark.parametrize(("when", "said", "worth"), KNOWN.values(), ids=KNOWN)
def test_what_does_not_hang_on_it_is_known(when: dict[str, Any], said: Said, worth: float) -> None:
    reward = steps_of(when, said)
    assert (reward.status, reward.reward) == ("sealed", worth)
