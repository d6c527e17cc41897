"""The kernel's list of mounts, read."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.sources.files.mounts import Mount, below, read_mounts

LIST = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw,nosuid shared:2 - proc proc rw
40 22 0:44 / /home/a\040b rw - nfs4 server:/export rw,vers=4.2
41 22 0:45 / /home/x rw - tmpfs none rw
42 41 0:46 / /home/x rw - fuse.sshfs user@host: rw
43 22 0:47 / /homely rw master:3 propagate_from:2 - tmpfs none rw
"""


def test_the_list_is_read_with_odd_names_and_the_upper_mount_last() -> None:
    assert read_mounts(LIST) == [
        Mount("/", "ext4"), Mount("/proc", "proc"), Mount("/home/a b", "nfs4"), Mount("/home/x", "fuse.sshfs"),
        Mount("/homely", "tmpfs"),
    ]  # fmt: skip


def test_what_lies_below_a_root() -> None:
    """And not beside it: /homely is not in /home."""
    on, inside = below(Path("/home"), read_mounts(LIST))
    assert on == Mount("/", "ext4")
    assert inside == {"a b": Mount("/home/a b", "nfs4"), "x": Mount("/home/x", "fuse.sshfs")}
    assert below(Path("/home/x"), read_mounts(LIST)) == (Mount("/home/x", "fuse.sshfs"), {})


@pytest.mark.parametrize(
    ("kind", "silent", "no_files"),
    [("ext4", False, False), ("overlay", False, False), ("nfs", True, False), ("fuse.rclone", True, False),
     ("9p", True, False), ("virtiofs", True, False), ("proc", False, True), ("autofs", False, True)],
)  # fmt: skip
def test_kinds_of_file_systems(kind: str, silent: bool, no_files: bool) -> None:
    assert (Mount("/m", kind).silent, Mount("/m", kind).no_files) == (silent, no_files)


def test_this_machine_has_mounts() -> None:
    assert any(mount.path == "/" for mount in read_mounts())
