"""Which file systems lie in a watched directory: some are silent about other machines' changes,
some hold no files.

The kernel says when mounts change, by an exceptional condition on its list of them; nothing is
polled.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_LIST = "/proc/self/mountinfo"
_SILENT = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs 9p ceph afs coda ncpfs virtiofs vboxsf vmhgfs prl_fs lustre gpfs"
    " beegfs glusterfs ocfs2 gfs2 orangefs pvfs2 davfs".split()
)
"""What other machines change there, this kernel does not tell."""
_NO_FILES = frozenset(
    "proc sysfs cgroup cgroup2 devpts debugfs tracefs securityfs selinuxfs bpf pstore configfs"
    " mqueue hugetlbfs autofs binfmt_misc efivarfs fusectl rpc_pipefs nsfs".split()
)
_OCTAL = re.compile(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """One mount point (absolute) and the type of its file system."""

    path: str
    kind: str

    @property
    def silent(self) -> bool:
        """Whether changes can happen there that the kernel does not report."""
        return self.kind in _SILENT or self.kind.startswith("fuse")

    @property
    def no_files(self) -> bool:
        """Whether it is a window into the kernel, or mounts what one looks at."""
        return self.kind in _NO_FILES


def read_mounts(text: bytes | None = None) -> list[Mount]:
    """List every mount of this process, the later above the earlier.

    ``text``: the kernel's list (None: as it is now).
    """
    if text is None:
        text = Path(_LIST).read_bytes()
    mounts: dict[str, Mount] = {}
    for line in text.splitlines():
        before, dash, after = line.partition(b" - ")
        fields = before.split(b" ")
        if dash and len(fields) > 4:
            path = os.fsdecode(_OCTAL.sub(lambda octal: bytes([int(octal[1], 8)]), fields[4]))
            mounts[path] = Mount(path, after.split(b" ")[0].decode())
    return list(mounts.values())


def below(root: Path, mounts: list[Mount]) -> tuple[Mount | None, dict[str, Mount]]:
    """Return the mount that ``root`` lies on, and those below it by their relative path."""
    inside: dict[str, Mount] = {}
    on: Mount | None = None
    for mount in mounts:
        path = Path(mount.path)
        if path != root and path.is_relative_to(root):
            inside[str(path.relative_to(root))] = mount
        elif root.is_relative_to(path) and (on is None or len(mount.path) >= len(on.path)):
            on = mount
    return on, inside


class MountEvents:
    """Calls ``changed`` when the mounts changed; ``fd`` is what ``loop_reader`` was given."""

    def __init__(
        self, loop_reader: Callable[[int, Callable[[], None]], None], changed: Callable[[], None]
    ) -> None:
        self._list = os.open(_LIST, os.O_RDONLY | os.O_CLOEXEC)
        # The list itself is always readable; what it has to say now and then is an exceptional
        # condition.
        self._poll = select.epoll()
        self._poll.register(self._list, select.EPOLLPRI)
        self.fd = self._poll.fileno()
        loop_reader(self.fd, changed)  # the loop's own question takes the condition in

    def close(self) -> None:
        """Stop listening; the caller takes ``fd`` off the loop first."""
        self._poll.close()
        os.close(self._list)
