"""Trees walked by numpy say what LightGBM says."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from api.stages.model.trees import from_arrays, from_lightgbm, route_by_kind


@pytest.mark.parametrize("gaps", [0.0, 0.3], ids=["all known", "with gaps"])
def test_the_same_as_lightgbm(gaps: float) -> None:
    """To rounding, on rows with missing numbers too, in one batch and in many."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(2_000, 6))
    rows[draw.random(rows.shape) < gaps] = np.nan
    target = np.nan_to_num(rows[:, 0]) * 2 + (np.nan_to_num(rows[:, 1]) > 0.3)
    settings = {"objective": "regression", "num_leaves": 9, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(rows, target), 20)
    trees = from_lightgbm(booster.dump_model())
    asked = draw.normal(size=(1_500, 6))
    asked[draw.random(asked.shape) < gaps] = np.nan
    assert np.allclose(trees.score(asked), booster.predict(asked, raw_score=True), atol=1e-9)
    again = from_arrays({name: np.asarray(value) for name, value in trees.arrays().items()})
    assert np.array_equal(again.score(asked), trees.score(asked))
    assert len(trees.score(asked[:0])) == 0
    alone = np.concatenate([trees.score(row[None]) for row in asked[:200]])
    assert alone.tobytes() == trees.score(asked)[:200].tobytes()


def test_a_row_reaches_the_trees_of_its_kind_alone() -> None:
    """A desktop is told by its first feature, and by the second, which a page has too."""
    draw = np.random.default_rng(2)
    rows = draw.normal(size=(400, 5))
    rows[:, :2] = draw.integers(0, 2, size=(400, 2))
    settings = {"objective": "regression", "num_leaves": 9, "verbose": -1, "num_threads": 1}
    desktop, pages = (
        from_lightgbm(lightgbm.train(settings, lightgbm.Dataset(rows, target), 7).dump_model())
        for target in (rows[:, 2], np.sin(3 * rows[:, 3]))
    )
    joined = route_by_kind(desktop, pages, desk=0, text=1)
    is_desktop = (rows[:, 0] == 1) & (rows[:, 1] == 0)
    wanted = np.where(is_desktop, desktop.score(rows), pages.score(rows))
    assert np.allclose(joined.score(rows), wanted, atol=1e-12)
    alone = [float(joined.score(row[None])[0]) for row in rows]
    assert np.allclose(alone, wanted, atol=1e-12)
