"""Where the kernel gives too few watches, or none, and where file systems come and go: in
namespaces of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.files.inside import FEW_WATCHES, enter


def test_watches_run_out(tmp_path: Path) -> None:
    """An alarm, and what is not watched is read now and then; over when there are watches again."""
    enter("few_watches", tmp_path, before=FEW_WATCHES)


def test_instances_run_out(tmp_path: Path) -> None:
    """The same for everything."""
    enter("no_instance", tmp_path, before="echo 0 >/proc/sys/user/max_inotify_instances")


@pytest.mark.parametrize(
    "scene", ["mounted_below", "bound_and_overlaid", "unmounted", "everything"]
)
def test_mounts(tmp_path: Path, scene: str) -> None:
    enter(scene, tmp_path, mounts=True)
