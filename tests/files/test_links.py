"""Links, pipes, devices: what stands in a folder and is no plain file is told, or not, but never
followed or opened."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentd.sources.files.look import look
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import Root, RootGoneError, entries, glance, scan
from tests.files.watching import Watch


def rooted(path: Path) -> Root:
    return Root("root", path, Troubles())


async def test_a_symbolic_link_is_told_by_where_it_points(tmp_path: Path) -> None:
    """Out of the root, into nothing, to a folder: as it is written, and never with anybody's
    content."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "gold").write_text("gold")
    (root / "before").symlink_to(outside / "gold")
    async with Watch(root) as watch:
        assert watch.data("before")["link"] == str(outside / "gold")
        (root / "gone").symlink_to("nowhere")
        (root / "folder").symlink_to(outside)
        await watch.until(lambda: len(watch.changes) == 2)
        (outside / "late").write_text("late")
        (root / "other").symlink_to("elsewhere")
        (root / "other").rename(root / "gone")
        assert sorted(await watch.fenced()) == [
            ("file.created", "folder"), ("file.created", "gone"), ("file.modified", "gone"),
        ]  # fmt: skip
        assert watch.data("folder") == {
            "root": "root", "path": "folder", "name": "folder", "size": len(str(outside)), "sha256": None,
            "link": str(outside), "via": "write",
        }  # fmt: skip
        assert watch.data("gone")["link"] == "elsewhere"


async def test_a_file_of_many_names_says_so(tmp_path: Path) -> None:
    """Its content is its own; and what is written to it under a name outside is seen at the next
    fence."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("one")
    async with Watch(root) as watch:
        os.link(tmp_path / "outside", root / "inside")
        await watch.until(lambda: watch.changes)
        assert watch.data("inside")["links"] == 2
        (tmp_path / "outside").write_text("two, unseen by the kernel's watch")
        await watch.until(lambda: ("file.modified", "inside") in watch.changes)
        (root / "plain").write_text("plain")
        await watch.fenced()
        assert "links" not in watch.data("plain")


async def test_what_is_written_under_another_name_with_its_times_set_back_is_told(
    tmp_path: Path,
) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    (root / "a").write_text("one")
    os.link(root / "a", elsewhere)
    async with Watch(root) as watch:
        before = elsewhere.stat()
        elsewhere.write_text("two")
        os.utime(elsewhere, ns=(before.st_atime_ns, before.st_mtime_ns))
        await watch.fenced()
        await watch.source.before_seal(0, closing=False)
        assert watch.changes == [("file.modified", "a")]


async def test_a_name_that_is_renamed_twice_and_gone_at_once_was_there(tmp_path: Path) -> None:
    async with Watch(tmp_path) as watch:
        (tmp_path / "a").write_text("a")
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "b").rename(tmp_path / "b.tmp")
        (tmp_path / "b.tmp").unlink()
        await watch.fenced()
        await watch.source.before_seal(0, closing=False)
        assert watch.changes == [("file.vanished", "b")]


async def test_what_would_block_is_not_opened(tmp_path: Path) -> None:
    """Pipes, sockets and devices make no event, and a pipe's writer finds no reader."""
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(
            tmp_path, os.O_PATH
        )  # a socket's address is short, a test's directory may not be
        listening.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        os.mkfifo(tmp_path / "pipe")
        async with Watch(tmp_path) as watch:
            os.mkfifo(tmp_path / "later")
            (tmp_path / "sign").write_text("sign")
            (tmp_path / "later").chmod(0o600)
            assert await watch.fenced() == [("file.created", "sign")]
            assert look(rooted(tmp_path), "socket") is None
            for name in ("pipe", "later"):
                assert look(rooted(tmp_path), name) is None
                with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
                    os.open(tmp_path / name, os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_none_of_ours(tmp_path: Path) -> None:
    os.mknod(tmp_path / "zero", 0o20600, os.makedev(1, 5))
    assert look(rooted(tmp_path), "zero") is None


def swapped(
    act: Callable[[], None],
    one: Callable[[], None],
    other: Callable[[], None],
    met: Callable[[], bool],
) -> None:
    """Call ``act`` two thousand times, and on until it has ``met`` both, while another thread does
    ``one`` and ``other`` in turn."""
    over = threading.Event()
    deadline = time.monotonic() + 60

    def swap() -> None:
        while not over.is_set():
            one()
            other()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for n in itertools.count():
            if n >= 2000 and (met() or time.monotonic() > deadline):
                break
            act()
    finally:
        over.set()
        thread.join()


def put(path: Path, make: Callable[[Path], None]) -> Callable[[], None]:
    """Makes what then takes ``path``'s place at one stroke."""

    def act() -> None:
        fresh = path.with_name("fresh")
        make(fresh)
        fresh.rename(path)

    return act


def test_a_link_swapped_in_for_a_file_shows_nothing_of_elsewhere(tmp_path: Path) -> None:
    """However the two take turns between two system calls: the file's content or the link, never
    the secret."""
    root, secret = tmp_path / "root", tmp_path / "secret"
    root.mkdir()
    secret.write_text("the secret's content is longer")
    place = root / "place"
    place.write_text("short")
    seen = set()

    def act() -> None:
        found = look(watched, "place")
        if found is not None:
            seen.add((found.size, found.link))

    watched = rooted(root)
    link, file = (
        put(place, lambda at: at.symlink_to(secret)),
        put(place, lambda at: at.write_text("short") and None),
    )
    swapped(act, link, file, lambda: {link for _, link in seen} == {None, str(secret)})
    assert seen <= {(5, None), (0, None), (len(str(secret)), str(secret))}
    assert {link for _, link in seen} == {None, str(secret)}, "the two never took turns"


def test_a_folder_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    """Neither a look nor a listing goes through it, whenever it comes."""
    root, outside, aside = tmp_path / "root", tmp_path / "outside", tmp_path / "aside"
    (root / "d").mkdir(parents=True)
    (root / "d" / "mine").write_text("mine")
    outside.mkdir()
    (outside / "mine").write_text("of somebody else")
    (outside / "gold").write_text("gold")
    link = tmp_path / "link"
    sizes, names, watched = set(), set(), rooted(root)

    def to_link() -> None:
        link.symlink_to(outside)
        (root / "d").rename(aside)
        link.rename(root / "d")

    def to_folder() -> None:
        (root / "d").unlink()
        aside.rename(root / "d")

    def act() -> None:
        if (found := look(watched, "d/mine")) is not None:
            sizes.add(found.size)
        assert glance(watched, "d/gold") is None
        names.update(one.path for one in entries(watched, "d"))

    swapped(act, to_link, to_folder, lambda: bool(sizes and names))
    assert sizes == {4}
    assert names == {"d/mine"}


def test_another_directory_in_the_roots_place_is_not_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    watched = rooted(root)
    root.rename(tmp_path / "was")
    root.mkdir()
    (root / "file").write_text("of another")
    with pytest.raises(RootGoneError, match="another directory"):
        look(watched, "file")
    with pytest.raises(RootGoneError, match="another directory"):
        list(scan(watched))
