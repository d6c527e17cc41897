"""Raw notifications folded to what happened: a table of stories, each with all that must be said of
it.

A story is a list of notifications and answers: ``("look", path, size, content)`` answers the latest
look at path.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from agentd.sources.files.facts import FileFacts, FileGlance
from agentd.sources.files.fold import FileObservation, Look, Raw, RootFold
from agentd.sources.files.names import printable_path, scaffold
from agentd.sources.files.tree import PathTree


class Teller:
    """Tells a fold a story and keeps what it said, in short."""

    def __init__(self) -> None:
        self.fold = RootFold()
        self.said: list[tuple[str, ...]] = []
        self.looks: dict[str, Look] = {}

    def take(self, what: list[Any]) -> None:
        for do in what:
            if isinstance(do, Look):
                self.looks[do.path] = do
            else:
                assert isinstance(do, FileObservation)
                extra = [do.data[name] for name in ("from", "via") if name in do.data]
                self.said.append((do.kind, do.data["path"], *extra))

    def tell(self, story: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
        for op, path, *rest in story:
            if op == "present":
                self.take(self.fold.present(path, facts(rest[0])))
            elif op == "look":
                look = self.looks.pop(path)
                self.take(self.fold.finish_look(path, look.ticket, facts(rest[0])))
            elif op == "missed":
                self.take(self.fold.note_overflow())
            else:
                folder = path.endswith("/")
                dest = rest[0].rstrip("/") if rest else ""
                self.take(self.fold.notice(Raw(op, path.rstrip("/"), dest, folder)))
        return self.said


def facts(content: str | None) -> FileFacts | None:
    return None if content is None else FileFacts(len(content), content, 1)


YES: dict[str, tuple[list[tuple[Any, ...]], list[tuple[str, ...]]]] = {
    "written and closed": (
        [("appeared", "a"), ("written", "a"), ("closed", "a"), ("look", "a", "x")],
        [("file.created", "a", "write")],
    ),
    "still open but quiet": (
        [("appeared", "a"), ("written", "a"), ("look", "a", "x")],
        [("file.created", "a", "write")],
    ),
    "empty, then its content": (
        [("appeared", "a"), ("closed", "a"), ("look", "a", ""), ("written", "a"), ("closed", "a"), ("look", "a", "x")],
        [("file.created", "a", "write")],
    ),
    "empty and stays so": (
        [("appeared", "a"), ("closed", "a"), ("look", "a", ""), ("look", "a", "")],
        [("file.created", "a", "write")],
    ),
    "changed": ([("present", "a", "x"), ("written", "a"), ("closed", "a"), ("look", "a", "y")],
        [("file.present", "a"), ("file.modified", "a", "write")]),
    "emptied": ([("present", "a", "x"), ("written", "a"), ("closed", "a"), ("look", "a", "")],
        [("file.present", "a"), ("file.modified", "a", "write")]),
    "saved through a temporary name": (
        [("appeared", "a.tmp"), ("written", "a.tmp"), ("closed", "a.tmp"), ("moved", "a.tmp", "a"), ("look", "a", "x")],
        [("file.created", "a", "rename")],
    ),
    "saved through a name that nobody knows for temporary": (
        [("appeared", "q7"), ("closed", "q7"), ("moved", "q7", "a"), ("look", "a", "x")],
        [("file.created", "a", "rename")],
    ),
    "saved over through a temporary name": (
        [("present", "a", "x"), ("appeared", "a.tmp"), ("moved", "a.tmp", "a"), ("look", "a", "y")],
        [("file.present", "a"), ("file.modified", "a", "rename")],
    ),
    "saved after putting the old one aside": (
        [("present", "a", "x"), ("moved", "a", "a~"), ("appeared", "a"), ("closed", "a"), ("look", "a", "y"),
         ("gone", "a~")],
        [("file.present", "a"), ("file.modified", "a", "rename")],
    ),
    "put aside, and nothing in its place": (
        [("present", "a", "x"), ("moved", "a", "a~"), ("look", "a", None)],
        [("file.present", "a"), ("file.deleted", "a")],
    ),
    "Chrome's download": (
        [("appeared", "Unconfirmed 1.crdownload"), ("written", "Unconfirmed 1.crdownload"),
         ("closed", "Unconfirmed 1.crdownload"), ("moved", "Unconfirmed 1.crdownload", "a"), ("look", "a", "x")],
        [("file.created", "a", "download")],
    ),
    "Chrome's download under a hidden name": (
        [("appeared", ".com.google.Chrome.aB3"), ("moved", ".com.google.Chrome.aB3", "Unconfirmed 2.crdownload"),
         ("moved", "Unconfirmed 2.crdownload", "a"), ("look", "a", "x")],
        [("file.created", "a", "download")],
    ),
    "Firefox's download holds its name with an empty file": (
        [("appeared", "a"), ("closed", "a"), ("appeared", "a.part"), ("look", "a", ""), ("written", "a.part"),
         ("moved", "a.part", "a"), ("look", "a", "x")],
        [("file.created", "a", "download")],
    ),
    "that download is cancelled": (
        [("appeared", "a"), ("appeared", "a.part"), ("look", "a", ""), ("gone", "a.part"), ("gone", "a")],
        [],
    ),
    "a page saves by the File System Access API": (
        [("appeared", "a"), ("closed", "a"), ("appeared", "a.crswap"), ("closed", "a.crswap"), ("look", "a", ""),
         ("written", "a.crswap"), ("closed", "a.crswap"), ("moved", "a.crswap", "a"), ("look", "a", "x")],
        [("file.created", "a", "rename")],
    ),
    "it saves over a file": (
        [("present", "a", "x"), ("appeared", "a.crswap"), ("closed", "a.crswap"), ("moved", "a.crswap", "a"),
         ("look", "a", "y")],
        [("file.present", "a"), ("file.modified", "a", "rename")],
    ),
    "it gives up": (
        [("appeared", "a"), ("appeared", "a.crswap"), ("look", "a", ""), ("gone", "a.crswap"), ("gone", "a")],
        [],
    ),
    "renamed": ([("present", "a", "x"), ("moved", "a", "b")], [("file.present", "a"), ("file.moved", "b", "a")]),
    "written, renamed before anybody looked": (
        [("present", "a", "x"), ("written", "a"), ("moved", "a", "b"), ("look", "b", "y")],
        [("file.present", "a"), ("file.moved", "b", "a"), ("file.modified", "b", "write")],
    ),
    "its directory renamed": (
        [("appeared", "d/"), ("present", "d/a", "x"), ("appeared", "d/e/"), ("present", "d/e/b", "y"),
         ("moved", "d/", "f/")],
        [("folder.created", "d"), ("file.present", "d/a"), ("folder.created", "d/e"), ("file.present", "d/e/b"),
         ("folder.moved", "f", "d"), ("file.moved", "f/a", "d/a"), ("folder.moved", "f/e", "d/e"),
         ("file.moved", "f/e/b", "d/e/b")],
    ),
    "its directory moved away": (
        [("appeared", "d/"), ("appeared", "d/e/"), ("present", "d/a", "x"), ("gone", "d/")],
        [("folder.created", "d"), ("folder.created", "d/e"), ("file.present", "d/a"), ("file.deleted", "d/a"),
         ("folder.deleted", "d/e"), ("folder.deleted", "d")],
    ),
    "a temporary name that is kept": (
        [("appeared", "a.tmp"), ("written", "a.tmp"), ("closed", "a.tmp"), ("look", "a.tmp", "x")],
        [("file.created", "a.tmp", "write")],
    ),
    "a temporary name that was told is lost after all": (
        [("appeared", "a.part"), ("closed", "a.part"), ("look", "a.part", "x"), ("moved", "a.part", "a"),
         ("look", "a", "x")],
        [("file.created", "a.part", "write"), ("file.deleted", "a.part"), ("file.created", "a", "download")],
    ),
    "a temporary name that was told is written again, renamed and deleted": (
        [("arrived", "a~"), ("look", "a~", "x"), ("written", "a~"), ("closed", "a~"), ("look", "a~", "y"),
         ("moved", "a~", "b~"), ("gone", "b~")],
        [("file.created", "a~", "rename"), ("file.modified", "a~", "write"), ("file.moved", "b~", "a~"),
         ("file.deleted", "b~")],
    ),
    "a backup that is kept": (
        [("present", "a", "x"), ("moved", "a", "a~"), ("appeared", "a"), ("closed", "a"), ("look", "a", "y"),
         ("look", "a~", "x")],
        [("file.present", "a"), ("file.modified", "a", "rename"), ("file.created", "a~", "rename")],
    ),
    "a temporary name of the baseline, written anew": (
        [("present", "a~", "x"), ("written", "a~"), ("closed", "a~"), ("look", "a~", "y")],
        [("file.modified", "a~", "write")],
    ),
    **{
        f"a lock of a document that is there: {name}": (
            [("present", "report.docx", "x"), ("appeared", name), ("closed", name), ("look", name, "me")],
            [("file.present", "report.docx")],
        )
        for name in (".~lock.report.docx#", "~$report.docx", "~$port.docx", ".#report.docx")
    },
    **{
        f"a lock's name, and no document of that name: {name}": (
            [("present", "other.docx", "x"), ("appeared", name), ("closed", name), ("look", name, "me")],
            [("file.present", "other.docx"), ("file.created", name, "write")],
        )
        for name in (".~lock.report.docx#", "~$report.docx", ".#report.docx", ".report.docx.swp", "4913", "d/~$r.docx")
    },
    "a swap file beside its document, closed and kept": (
        [("present", "report.docx", "x"), ("appeared", ".report.docx.swp"), ("written", ".report.docx.swp"),
         ("closed", ".report.docx.swp"), ("look", ".report.docx.swp", "b0VIM 9.0")],
        [("file.present", "report.docx"), ("file.created", ".report.docx.swp", "write")],
    ),
    "a swap file beside its document, while the editor runs and when it ends": (
        [("present", "report.docx", "x"), ("appeared", ".report.docx.swp"), ("written", ".report.docx.swp"),
         ("closed", ".report.docx.swp"), ("gone", ".report.docx.swp"), ("appeared", ".report.docx.swp"),
         ("written", ".report.docx.swp"), ("written", ".report.docx.swp"), ("gone", ".report.docx.swp")],
        [("file.present", "report.docx")],
    ),
    "a lock of a document that is new itself": (
        [("appeared", "report.docx"), ("appeared", "~$report.docx"), ("closed", "~$report.docx"),
         ("look", "~$report.docx", "me")],
        [],
    ),
    "a lock in a folder, of a long name": (
        [("present", "d/report.docx", "x"), ("appeared", "d/~$port.docx"), ("closed", "d/~$port.docx"),
         ("look", "d/~$port.docx", "me")],
        [("file.present", "d/report.docx")],
    ),
    "a lock's name that leaves out more than two letters": (
        [("present", "report.docx", "x"), ("appeared", "~$ort.docx"), ("closed", "~$ort.docx"),
         ("look", "~$ort.docx", "me")],
        [("file.present", "report.docx"), ("file.created", "~$ort.docx", "write")],
    ),
    "too large for a lock": (
        [("present", "a", "x"), ("appeared", ".~lock.a#"), ("closed", ".~lock.a#"),
         ("look", ".~lock.a#", "x" * 600)],
        [("file.present", "a"), ("file.created", ".~lock.a#", "write")],
    ),
    "gone before it settled": ([("appeared", "a"), ("written", "a"), ("gone", "a")], [("file.vanished", "a")]),
    "gone before the look": (
        [("appeared", "a"), ("closed", "a"), ("look", "a", None), ("look", "a", None)], [("file.vanished", "a")],
    ),
    "gone before the look, which is before the kernel's word": (
        [("appeared", "a"), ("closed", "a"), ("look", "a", None), ("gone", "a")], [("file.vanished", "a")],
    ),
    "looked for before the kernel said that it was renamed, twice, and is gone": (
        [("appeared", "a"), ("closed", "a"), ("look", "a", None), ("moved", "a", "b"), ("look", "b", None),
         ("moved", "b", "b.tmp"), ("gone", "b.tmp"), ("look", "b", None), ("look", "b", None)],
        [("file.vanished", "b")],
    ),
    "renamed, then gone before the look": (
        [("appeared", "a.tmp"), ("closed", "a.tmp"), ("moved", "a.tmp", "a"), ("gone", "a")], [("file.vanished", "a")],
    ),
    "gone with its folder": (
        [("appeared", "d/"), ("appeared", "d/a"), ("gone", "d/")],
        [("folder.created", "d"), ("file.vanished", "d/a"), ("folder.deleted", "d")],
    ),
    "two that change places": (
        [("present", "a", "x"), ("present", "b", "y"), ("moved", "a", "b"), ("moved", "b", "a"), ("look", "a", "y"),
         ("look", "b", "x")],
        [("file.present", "a"), ("file.present", "b"), ("file.moved", "b", "a"), ("file.moved", "a", "b"),
         ("file.modified", "a", "write"), ("file.created", "b", "rename")],
    ),
    "renamed over another": (
        [("present", "a", "x"), ("present", "b", "y"), ("moved", "a", "b"), ("look", "a", None), ("look", "b", "x")],
        [("file.present", "a"), ("file.present", "b"), ("file.moved", "b", "a")],
    ),
    "moved in from elsewhere": ([("arrived", "a"), ("look", "a", "x")], [("file.created", "a", "rename")]),
    "a folder made, renamed, emptied and removed": (
        [("appeared", "d/"), ("appeared", "d/a"), ("closed", "d/a"), ("look", "d/a", "x"), ("moved", "d/", "e/"),
         ("gone", "e/a"), ("gone", "e/")],
        [("folder.created", "d"), ("file.created", "d/a", "write"), ("folder.moved", "e", "d"),
         ("file.moved", "e/a", "d/a"), ("file.deleted", "e/a"), ("folder.deleted", "e")],
    ),
    "told of a folder twice": ([("appeared", "d/"), ("appeared", "d/")], [("folder.created", "d")]),
    "a folder that moved in with its files": (
        [("arrived", "d/"), ("arrived", "d/a"), ("look", "d/a", "x")],
        [("folder.created", "d"), ("file.created", "d/a", "rename")],
    ),
    "deleted": ([("present", "a", "x"), ("gone", "a")], [("file.present", "a"), ("file.deleted", "a")]),
    "deleted and made again": (
        [("present", "a", "x"), ("gone", "a"), ("appeared", "a"), ("closed", "a"), ("look", "a", "x")],
        [("file.present", "a"), ("file.deleted", "a"), ("file.created", "a", "write")],
    ),
}  # fmt: skip

NO: dict[str, list[tuple[Any, ...]]] = {
    "nobody looked yet": [("appeared", "a"), ("written", "a"), ("closed", "a")],
    "a temporary name": [("appeared", "a.tmp"), ("written", "a.tmp"), ("closed", "a.tmp"), ("gone", "a.tmp")],
    "a download under way": [("appeared", "x.crdownload"), ("written", "x.crdownload"), ("closed", "x.crdownload")],
    "an editor's lock": [("appeared", ".~lock.a.odt#"), ("closed", ".~lock.a.odt#"), ("gone", ".~lock.a.odt#")],
    "a temporary name that stays empty": [("appeared", "a.tmp"), ("closed", "a.tmp"), ("look", "a.tmp", "")],
    "a temporary name of the baseline, written as it was": [("present", "a~", "x"), ("closed", "a~"),
        ("look", "a~", "x")],
    "a temporary name in the baseline": [("present", "x.part", "x"), ("gone", "x.part")],
}  # fmt: skip


@pytest.mark.parametrize(("story", "said"), YES.values(), ids=YES)
def test_said(story: list[tuple[Any, ...]], said: list[tuple[str, ...]]) -> None:
    """The story ends in exactly these events, in this order."""
    assert Teller().tell(story) == said


@pytest.mark.parametrize("story", NO.values(), ids=NO)
def test_not_said(story: list[tuple[Any, ...]]) -> None:
    """The story makes no event at all."""
    assert Teller().tell(story) == []


def test_a_temporary_name_is_not_looked_at_while_it_is_written() -> None:
    """A download, an editor's swap file: however long it takes, and also at the close."""
    fold = RootFold()
    (look,) = fold.notice(Raw("appeared", "a.part"))
    assert isinstance(look, Look)
    assert (look.when, fold.is_wanted("a.part", look.ticket)) == ("left", True)
    assert fold.notice(Raw("written", "a.part")) == []
    assert not fold.is_wanted("a.part", look.ticket)
    assert len(fold.notice(Raw("closed", "a.part"))) == 1


GLANCED: dict[str, tuple[list[tuple[Any, ...]], bool]] = {
    "being written": ([("appeared", "a.part"), ("written", "a.part")], False),
    "being written under another name": ([("written", "b.part"), ("moved", "b.part", "a.part")], False),
    "closed": ([("written", "a.part"), ("closed", "a.part"), ("look", "a.part", None)], True),
    "its notifications were lost": ([("written", "a.part"), ("missed", ""), ("look", "a.part", None)], True),
    "never heard of": ([], True),
}  # fmt: skip


@pytest.mark.parametrize(("story", "looked"), GLANCED.values(), ids=GLANCED)
def test_a_glance_at_a_temporary_name(story: list[tuple[Any, ...]], looked: bool) -> None:
    """Its root is read anew whenever folders are made: that is no word that a download is over."""
    teller = Teller()
    teller.tell(story)
    done = teller.fold.reconcile(FileGlance("a.part", "file", 9, 9, 9, 9, 0o644))
    assert [isinstance(do, Look) for do in done] == [True] * looked


def test_who_may_have_closed_a_temporary_name_unheard() -> None:
    """After a loss each one that was being written is asked for once, when it was left alone; no
    other is."""
    teller = Teller()
    teller.tell(
        [("written", "a.part"), ("closed", "b.part"), ("look", "b.part", None), ("closed", "c")]
    )
    assert [(do.path, do.when) for do in teller.fold.note_overflow() if isinstance(do, Look)] == [
        ("a.part", "left")
    ]
    assert teller.fold.note_overflow() == []


def test_the_same_content_written_again_is_no_change() -> None:
    """What counts is the content: a rewrite with the same bytes says nothing."""
    story = [("present", "a", "x"), ("written", "a"), ("closed", "a"), ("look", "a", "x")]
    assert Teller().tell(story) == [("file.present", "a")]


def test_an_overtaken_look_counts_for_nothing() -> None:
    """An answer to an older question than the last write's is not believed."""
    teller = Teller()
    teller.tell([("appeared", "a"), ("closed", "a")])
    old = teller.looks["a"]
    teller.tell([("written", "a"), ("closed", "a")])
    assert teller.fold.finish_look("a", old.ticket, facts("half")) == []
    assert teller.tell([("look", "a", "whole")]) == [("file.created", "a", "write")]


@pytest.mark.parametrize(
    ("found", "said", "looks"),
    [
        (FileGlance("a", "file", 1, 1, 1, 1, 0o644), [], 0),
        (FileGlance("a", "file", 1, 1, 2, 1, 0o600), ["file.mode_changed"], 0),
        (FileGlance("a", "file", 2, 2, 2, 1, 0o644), [], 1),
        (FileGlance("a", "file", 1, 1, 2, 9, 0o600), ["file.mode_changed"], 1),
        (FileGlance("a", "link", 1, 1, 2, 9, 0o777), [], 1),
        (FileGlance("a", "folder"), ["file.deleted", "folder.created"], 0),
        (FileGlance("a", "other"), ["file.deleted"], 0),
        (FileGlance("b", "file", 1, 1, 1, 2, 0o644), [], 1),
        (FileGlance("b.tmp", "file", 1, 1, 1, 2, 0o644), [], 1),
        (FileGlance("old.tmp", "file", 1, 1, 1, 4, 0o644), [], 0),
        (FileGlance("old.tmp", "file", 2, 2, 2, 4, 0o644), [], 1),
        (FileGlance("d", "file", 1, 1, 1, 2, 0o644), ["file.deleted", "folder.deleted"], 1),
    ],
)
def test_a_glance(found: FileGlance, said: list[str], looks: int) -> None:
    """What stands as it was says nothing; other permissions are said at once; other content is
    looked at first."""
    fold = RootFold()
    fold.present("a", FileFacts(1, "x", 1, 1, 1, 0o644))
    fold.present_folder("d")
    fold.present("d/in", FileFacts(1, "x", 1, 1, 3, 0o644))
    fold.present("old.tmp", FileFacts(1, "x", 1, 1, 4, 0o644))
    done = fold.reconcile(found)
    assert [do.kind for do in done if isinstance(do, FileObservation)] == said
    assert sum(isinstance(do, Look) for do in done) == looks


def test_a_link_in_a_files_place_is_not_that_file() -> None:
    """Nor the file in the link's: one goes, the other comes."""
    fold = RootFold()
    fold.present("a", FileFacts(1, "x", 1, 1, 1, 0o644))
    for found in (FileFacts(4, None, 2, link="else"), FileFacts(1, "x", 3)):
        (look,) = fold.notice(Raw("closed", "a"))
        assert isinstance(look, Look)
        said = fold.finish_look("a", look.ticket, found)
        assert [do.kind for do in said if isinstance(do, FileObservation)] == [
            "file.deleted",
            "file.created",
        ]


LINK, FILE, EMPTY = FileFacts(4, None, 2, link="else"), FileFacts(1, "x", 3), FileFacts(0, "", 4)
CHANGED: dict[str, tuple[list[FileFacts], list[str]]] = {
    "a link, then a file": ([LINK, FILE], ["file.created", "file.deleted", "file.created"]),
    "a file, then a link": ([FILE, LINK], ["file.created", "file.deleted", "file.created"]),
    "a link, then an empty file": ([LINK, EMPTY], ["file.created", "file.deleted"]),
    "a link, an empty file, a link": (
        [LINK, EMPTY, LINK],
        ["file.created", "file.deleted", "file.created"],
    ),
}


@pytest.mark.parametrize(("looks", "kinds"), CHANGED.values(), ids=CHANGED)
def test_a_temporary_name_that_changes_between_link_and_file(
    looks: list[FileFacts], kinds: list[str]
) -> None:
    """What was reported as deleted is not known any more, so that it is not deleted twice."""
    fold = RootFold()
    reported: list[str] = []
    for found in looks:
        (look,) = fold.notice(Raw("closed", "a~"))
        assert isinstance(look, Look)
        done = fold.finish_look("a~", look.ticket, found)
        reported += [do.kind for do in done if isinstance(do, FileObservation)]
    assert reported == kinds
    is_there = kinds[-1] == "file.created"
    assert ("a~" in fold.known) is is_there
    gone = [do.kind for do in fold.notice(Raw("gone", "a~")) if isinstance(do, FileObservation)]
    assert gone == ["file.deleted"] * is_there


def test_a_temporary_name_of_an_earlier_attachment_that_becomes_a_link_is_new() -> None:
    fold = RootFold()
    fold.present("a~", FILE, told=True)
    (look,) = fold.notice(Raw("closed", "a~"))
    assert isinstance(look, Look)
    done = fold.finish_look("a~", look.ticket, LINK)
    assert [do.kind for do in done if isinstance(do, FileObservation)] == [
        "file.deleted",
        "file.created",
    ]


def test_an_empty_file_in_a_links_place_is_awaited_once_the_link_is_gone() -> None:
    """The link's end is reported at once; what came in its place may vanish before its content."""
    fold = RootFold()
    fold.present("a", LINK)
    (look,) = fold.notice(Raw("closed", "a"))
    assert isinstance(look, Look)
    first, again = fold.finish_look("a", look.ticket, EMPTY)
    assert isinstance(first, FileObservation)
    assert (first.kind, "a" in fold.known) == ("file.deleted", False)
    assert isinstance(again, Look)
    assert [do.kind for do in fold.notice(Raw("gone", "a")) if isinstance(do, FileObservation)] == [
        "file.vanished"
    ]


def test_new_content_under_new_permissions_says_both() -> None:
    """An editor that writes anew and gives the new file another mode."""
    fold = RootFold()
    fold.present("a", FileFacts(1, "x", 1, 1, 1, 0o644))
    (look,) = fold.notice(Raw("closed", "a"))
    assert isinstance(look, Look)
    assert fold.finish_look("a", look.ticket, FileFacts(1, "y", 2, 2, 2, 0o755, mime="text/x-python")) == [
        FileObservation("file.modified", {"path": "a", "name": "a", "size": 1, "sha256": "y", "mode": "0755",
                              "mime": "text/x-python", "via": "write"}),
        FileObservation("file.mode_changed", {"path": "a", "name": "a", "mode": "0755"}),
    ]  # fmt: skip


def test_a_tree_of_paths_forgets_what_it_lets_go() -> None:
    """However folders are nested, and in whatever order they go."""
    tree = PathTree()
    for path in ("a/b/c", "a/b", "a/d", "e"):
        tree.add(path)
    assert list(tree.below("")) == ["a/b", "a/b/c", "a/d", "e"]
    assert (list(tree.below("a/b")), tree.directly_in("a")) == (["a/b/c"], ["a/b", "a/d"])
    for path in ("a/b", "a/b/c", "a/d", "e"):
        tree.discard(path)
    assert list(tree.below("")) == []
    assert tree._in == {}


def test_files_without_a_hash_are_compared_by_size_and_time() -> None:
    """Above the hash limit, a change of size or time is a change; of the inode's own time too,
    which nobody can set back."""
    fold = RootFold()
    fold.present("a", FileFacts(10, None, 1, 1, unread="large"))
    modified = ["file.modified"]
    for mtime, ctime, kinds in ((1, 1, []), (2, 2, modified), (2, 3, modified)):
        found = FileFacts(10, None, mtime, ctime, unread="large")
        look = fold.notice(Raw("closed", "a"))[0]
        assert isinstance(look, Look)
        said = fold.finish_look("a", look.ticket, found)
        assert [do.kind for do in said if isinstance(do, FileObservation)] == kinds
        assert all(
            (do.data["unread_reason"], do.data["sha256"]) == ("large", None)
            for do in said
            if isinstance(do, FileObservation)
        )


@pytest.mark.parametrize(
    "name", ["report.pdf", "tmp", "part", "a.tmpl", "d/crdownload", "note~book", ".bashrc"]
)
def test_a_name_of_its_own(name: str) -> None:
    """Names that only look like temporary ones."""
    assert scaffold(name) is None


@pytest.mark.parametrize(
    ("name", "told"), [("caf\udce9", "caf\\xe9"), ("café", "café"), ("a b", "a b")]
)
def test_odd_bytes_are_spelt(name: str, told: str) -> None:
    assert printable_path(name) == told


@pytest.mark.parametrize("name", ["{}.tmp", "~$other {}.txt", "~$8{:06}.txt", ".~lock.x{}#"])
def test_thousands_of_temporary_names_beside_thousands_of_files_cost_little(name: str) -> None:
    """Who makes them must not hold up the daemon: it took a minute for four thousand, and office
    programs' marks twelve seconds."""
    fold = RootFold()
    facts = FileFacts(10, "a" * 64, 1, 1)
    for number in range(4_000):
        fold.present(f"9{number:08}.txt", facts)
    began = time.process_time()
    for number in range(4_000):
        look = fold.notice(Raw("closed", name.format(number)))[0]
        assert isinstance(look, Look)
        [said] = fold.finish_look(look.path, look.ticket, facts)
        assert isinstance(said, FileObservation)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("folder", ["", "d/"])
def test_what_a_mark_belongs_to_is_found_as_files_come_and_go(folder: str) -> None:
    fold = RootFold()
    facts = FileFacts(10, "a" * 64, 1, 1)

    def tell(mark: str) -> list[Any]:
        look = fold.notice(Raw("closed", folder + mark))[0]
        assert isinstance(look, Look)
        said = fold.finish_look(look.path, look.ticket, facts)
        fold.notice(Raw("gone", folder + mark))
        return said

    assert tell("~$port.docx")
    for name in ("report.docx", "eport.docx", "port.docx"):
        fold.present(folder + name, facts)
        assert not tell("~$port.docx")
        assert tell("~$rt.docx") or name == "port.docx"
        fold.notice(Raw("gone", folder + name))
        assert tell("~$port.docx")
    fold.present(folder + "preport.docx", facts)
    assert tell("~$port.docx")
