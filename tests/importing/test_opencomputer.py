"""OpenComputer's checks over files that libraries made: each is met by the right end state, not by a
wrong one, and not by one that stood there at the start."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.attack.attack import attack, make_oracle
from api.attack.report import fallen, finding
from api.cli.main import main
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import opencomputer
from lab.benchmarks.opencomputer.base import HOME
from tests.importing import opencomputer_files as make
from tests.importing.opencomputer_machine import paid, told
from tests.importing.test_coverage_page import published
from tests.support.cases import CASES
from tests.support.logs import Said, went

OPENCOMPUTER = CASES / "opencomputer"
needs_cases = pytest.mark.shared_cases("opencomputer")
Maker = Callable[[Path], None]
D = f"{HOME}Documents/"


def check(command: str, expression: str | None = None, expected: Any = True) -> dict[str, Any]:
    """One check of theirs."""
    if expression is not None:
        return {"command": command, "eval": expression}
    return {"command": command, "key": "match", "expected": expected}


def task(app: str, *checks: dict[str, Any], document: str = "", given: str = "") -> dict[str, Any]:
    files = [{"filename": given, "sandbox_path": f"{D}{given}"}] if given else []
    return {
        "id": "t", "app": app, "task": f"Save it as {D}{document}.", "env": {"files": files},
        "verification": [*checks],
    }  # fmt: skip


def imported(folder: Path, *tasks: dict[str, Any]) -> list[Any]:
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)) + "\n")
    return [*opencomputer.tasks(folder, {})]


def rules_of(one: Any) -> Ruleset:
    assert one.spec is not None, one.remarks
    return compile_task(task_from_json(one.spec))


ANNUAL = {"A1": "Product", "B1": "Total", "B2": 55000, "C2": "=SUM(B1:B2)", "D2": "=IF(B2>1,1,0)"}


def made_by(make_file: Callable[..., None]) -> Callable[..., Maker]:
    """Makers of files of one kind, by what is to stand in them."""

    def with_content(*content: Any, **more: Any) -> Maker:
        return lambda path: make_file(path, *content, **more)

    return with_content


def book(**more: Any) -> Maker:
    return lambda path: make.workbook(path, **{"cells": ANNUAL, **more})


text, pages, deck = made_by(make.text), made_by(make.pages), made_by(make.deck)
svg, drawn = made_by(make.drawing), made_by(make.diagram)
picture, said = made_by(make.picture), made_by(make.written)
VALUE = "(result.get('value') or 0)"
ROWS = ("T1", [["Item", "Price"], ["Lamp", "12"]])
TABLE = text(("table", ROWS))
OTHER_TABLE = text(("table", ("T1", [["Item", "Price"], ["Desk", "80"]])))
VPC = '<mxCell id="a" value="VPC" style="fillColor=#dae8fc;shape" vertex="1"/>'
EDGE = '<mxCell id="e" edge="1" source="a" target="a"/>'
AXES = (
    '<g inkscape:groupmode="layer" inkscape:label="Axes"><circle id="pt" style="fill:#ff5722"/>'
    "<text>Scatter <tspan>Plot</tspan></text></g>"
)
RED = AXES.replace("#ff5722", "#000000").replace("Axes", "Other").replace("Scatter", "Bar").replace('"pt"', '"q"')  # fmt: skip

DOCUMENTS: list[tuple[str, str, dict[str, Any], Maker, Maker]] = [
    ("libreoffice_calc", "a.xlsx", check("check-cell-value B2 55000 Sales"), book(), book(cells={"B2": 5})),
    ("libreoffice_calc", "a.xlsx", check("check-cell-value A1 PRODUCT Sales"), book(), book(cells={"A1": "Products"})),
    ("libreoffice_calc", "a.xlsx", check("check-cell-value A1 Product Sales"), book(), book(sheet="Other")),
    ("libreoffice_calc", "a.xlsx", check("cell-value B2 Sales", f"abs({VALUE} - 55000.2) < 0.5"), book(), book(cells={"B2": 1})),
    ("libreoffice_calc", "a.xlsx", check("cell-value C2 Sales", "result.get('formula') is not None and 'SUM' in result.get('formula','').upper()"), book(), book(cells={"C2": 3})),
    ("libreoffice_calc", "a.xlsx", check("cell-value D2 Sales", "result.get('formula','').upper().startswith('=IF')"), book(), book(cells={"D2": "=SUM(B1:B2)"})),
    ("libreoffice_calc", "a.xlsx", check("check-cell-formatted A1 true Sales"), book(bold="A1"), book(bold="B1")),
    ("libreoffice_calc", "a.xlsx", check("check-sheet-exists sales"), book(), book(sheet="Sales 2")),
    ("libreoffice_calc", "a.xlsx", check("check-sheet-count 2"), book(), lambda path: make.three_sheets(path)),
    ("libreoffice_writer", "a.odt", check("check-heading-exists Goals 1"), text(("h1", "Goals")), text(("h2", "Goals"))),
    ("libreoffice_writer", "a.odt", check("check-heading-exists Goals"), text(("h2", "Goals")), text(("p", "Goals"))),
    ("libreoffice_writer", "a.odt", check(f"parse-tables {D}a.odt", "any(len(t.get('data', [])) >= 2 and t['data'][1][0] == 'Lamp' for t in result.get('tables', []))"), TABLE, OTHER_TABLE),
    ("libreoffice_writer", "a.odt", check(f"parse-tables {D}a.odt", "result['tables'][0]['data'][1] == ['Lamp', '12']"), TABLE, OTHER_TABLE),
    ("libreoffice_writer", "a.odt", check(f"parse-tables {D}a.odt", "len(result.get('tables', [])) >= 1"), TABLE, text(("p", "x"))),
    ("libreoffice_writer", "a.odt", check("check-table-cell T1 1 0 lamp"), TABLE, OTHER_TABLE),
    ("libreoffice_writer", "a.odt", check("check-table-exists t1"), TABLE, text(("table", ("T2", [["a"]])))),
    ("libreoffice_writer", "a.odt", check("check-text-contains \"rooM b\""), text(("p", "In Room B.")), text(("p", "In Room C."))),
    ("libreoffice_writer", "a.odt", check("headers-footers", "result.get('footer_text', '').strip() == 'Secret'"), text(("p", "x"), footer="Secret"), text(("p", "Secret"), header="Secret")),
    ("libreoffice_writer", "a.odt", check("bookmarks", "'sign' in result.get('bookmarks', [])"), text(("mark", "sign")), text(("mark", "other"))),
    ("libreoffice_writer", "a.odt", check("check-paragraph-formatted 0 true"), text(("bold", "a"), ("p", "b")), text(("p", "a"), ("bold", "b"))),
    ("libreoffice_writer", "a.odt", check("check-paragraph-text 1 Two"), text(("p", "One"), ("p", "Two")), text(("p", "Two"), ("p", "One"))),
    ("libreoffice_writer", "a.odt", check("check-word-count 4"), text(("p", "one two three four five")), text(("p", "one two three"))),
    ("libreoffice_writer", "a.odt", check("search colour", "result.get('count', 1) == 0"), text(("p", "The color")), text(("p", "The colours"))),
    ("libreoffice_impress", "a.odp", check("check-slide-contains 1 two"), pages("One", "Part two"), pages("Part two", "One")),
    ("libreoffice_impress", "a.pptx", check("check-slide-title 0 plan"), deck("The plan"), deck("The day")),
    ("libreoffice_impress", "a.odp", check("check-notes-contain 0 slowly"), pages("One", notes="Speak slowly"), pages("slowly")),
    ("libreoffice_impress", "a.pptx", check("notes 0", "len(result.get('notes','').strip()) > 0"), deck("One", notes="Speak"), deck("One")),
    ("libreoffice_impress", "a.odp", check("check-slide-count 2"), pages("a", "b"), pages("a", "b", "c")),
    ("libreoffice_impress", "a.pptx", check("check-has-transition 0"), deck("a", transition=True), deck("a")),
    ("libreoffice_impress", "a.odp", check("slide-text 0", "'TODO' not in result.get('full_text','')"), pages("Done"), pages("TODO more")),
    ("libreoffice_draw", "a.odg", check("check-page-contains 0 \"Router A\""), pages("Router A"), pages("Router B")),
    ("libreoffice_draw", "a.odg", check("check-shape-exists 0 RectangleShape"), pages("a"), pages("a", shape="ellipse")),
    ("libreoffice_draw", "a.odg", check("check-shape-count 0 1"), pages("a"), pages()),
    ("libreoffice_draw", "a.odg", check("pages", "result['pages'][1]['shape_count'] >= 1"), pages("a", "b"), pages("a")),
    ("libreoffice_draw", "a.odg", check(f"check-page-property 0 name Cover0 {D}a.odg"), pages("a", name="Cover"), pages("Cover0")),
    ("gedit", "a.txt", check(f"check-file-contains {D}a.txt two words"), said("The two words."), said("The Two words.")),
    ("gedit", "a.txt", check(f"check-file-line {D}a.txt 2 b c"), said("a\n b c \n"), said("b c\na\n")),
    ("gedit", "a.txt", check(f"check-file-line-count {D}a.txt 2"), said("a\nb\n"), said("a\nb\nc\n")),
    ("gedit", "a.txt", check(f"file-content {D}a.txt", "'KEY' not in result.get('content', '')"), said("a=1"), said("KEY=1")),
    ("gedit", "a.txt", check(f"file-content {D}a.txt", "all(not line.startswith('#') for line in result.get('content', '').strip().split('\\n'))"), said("a\nb # c\n"), said("a\n# b\n")),
    ("gedit", "a.txt", check(f"check-file-exists {D}a.txt"), said("a"), lambda path: make.written(path.with_name("b.txt"), "a")),
    ("pcmanfm", "a.txt", check(f"check-file-contains {D}a.txt January revenue"), said("january revenue: 5"), said("January costs")),
    ("pcmanfm", "a.txt", check(f"check-permissions {D}a.txt 0600"), lambda path: make.moded(path, 0o600), lambda path: make.moded(path, 0o644)),
    ("pcmanfm", "a.txt", check(f"check-file-count {D} 2"), lambda path: make.several(path, 2), lambda path: make.several(path, 3)),
    ("pcmanfm", "a.txt", check(f"check-dir-exists {D}new"), lambda path: path.with_name("new").mkdir(), lambda path: make.written(path.with_name("new"), "x")),
    ("pcmanfm", "a.txt", check(f"check-extension-match {D} .txt"), said("x"), lambda path: make.written(path.with_suffix(".csv"), "x")),
    ("pcmanfm", "a.txt", check(f"check-symlink {D}a.txt {D}b"), lambda path: make.linked(path, "b"), lambda path: make.linked(path, "c")),
    ("gimp", "a.png", check(f"check-file-dimensions {D}a.png 80 60"), picture(), picture(width=60)),
    ("gimp", "a.png", check(f"check-file-format {D}a.png PNG"), picture(), picture(format="JPEG")),
    ("gimp", "a.png", check(f"check-file-mode {D}a.png L"), picture(mode="L"), picture()),
    ("inkscape", "a.svg", check(f"check-element-exists {D}a.svg pt"), svg(AXES), svg(RED)),
    ("inkscape", "a.svg", check(f"check-style-property {D}a.svg pt fill #FF5722"), svg(AXES), svg(AXES.replace("#ff5722", "red"))),
    ("inkscape", "a.svg", check(f"check-text-contains {D}a.svg \"Scatter Plot\""), svg(AXES), svg(RED)),
    ("inkscape", "a.svg", check(f"check-layer-exists {D}a.svg Axes"), svg(AXES), svg(RED)),
    ("inkscape", "a.svg", check(f"check-page-size {D}a.svg 600 600"), svg(""), svg("", width="600px")),
    ("inkscape", "a.svg", check(f"check-has-element-type {D}a.svg circle"), svg(AXES), svg("<rect/>")),
    ("drawio", "a.drawio", check(f"check-label-exists {D}a.drawio VPC"), drawn(VPC), drawn(VPC.replace("VPC", "EC2"))),
    ("drawio", "a.drawio", check(f"check-vertex-count {D}a.drawio 1 0"), drawn(VPC, EDGE), drawn(VPC, VPC.replace('"a"', '"b"'))),
    ("drawio", "a.drawio", check(f"check-edge-count {D}a.drawio 1 0"), drawn(VPC, EDGE), drawn(VPC)),
    ("drawio", "a.drawio", check(f"edges {D}a.drawio 0", "len(result) >= 1"), drawn(EDGE), drawn(VPC)),
    ("drawio", "a.drawio", check(f"check-page-count {D}a.drawio 1"), drawn(VPC), lambda path: make.written(path, "<mxfile/>")),
    ("drawio", "a.drawio", check(f"diagrams {D}a.drawio", "[p.get('name') for p in result] == ['One']"), drawn(VPC), drawn(VPC, name="Two")),
    ("drawio", "a.drawio", check(f"check-style-property {D}a.drawio a fillColor #dae8fc"), drawn(VPC), drawn(VPC.replace("dae8fc", "000000"))),
]  # fmt: skip

CARDS = "CREATE TABLE properties (card TEXT, name TEXT, value TEXT)"
LISTS = "CREATE TABLE lists (name TEXT)"


def row(name: str, value: str, card: str = "1") -> str:
    return f"INSERT INTO properties VALUES ('{card}', '{name}', '{value}')"


ADA = (CARDS, row("DisplayName", "Ada Lovelace"), row("Company", "Engines"), row("DisplayName", "Bob", "2"))  # fmt: skip
BOB = (CARDS, row("DisplayName", "Ada Byron"), row("Company", "Other"), row("Company", "Engines", "2"))  # fmt: skip
MAIL = "Subject: Weekly report\nTo: ada@x.test\n\nThe numbers.\n"
PLACES = "CREATE TABLE moz_places (id INTEGER, url TEXT, title TEXT)"
BOOKMARKS = "CREATE TABLE moz_bookmarks (type INTEGER, fk INTEGER, title TEXT)"
T, F = ".thunderbird/p/", ".mozilla/firefox/p/"


def db(*statements: str) -> Maker:
    return lambda path: make.database(path, *statements)


PROFILES: list[tuple[str, str, dict[str, Any], Maker, Maker]] = [
    ("thunderbird", f"{T}abook.sqlite", check("check-contact-exists Ada Lovelace"), db(*ADA), db(*BOB)),
    ("thunderbird", f"{T}abook.sqlite", check("check-contact-field Ada company Engines"), db(*ADA), db(*BOB)),
    ("thunderbird", f"{T}abook.sqlite", check("contact-count", "result.get('count', 0) >= 2"), db(*ADA), db(*ADA[:3])),
    ("thunderbird", f"{T}abook.sqlite", check("check-mailing-list Team"), db(LISTS, "INSERT INTO lists VALUES ('The team')"), db(LISTS)),
    ("thunderbird", f"{T}prefs.js", check("check-pref-value mail.name Alexandra Chen"), said('user_pref("mail.name", "Alexandra Chen");\n'), said('user_pref("mail.name", "Alexandra");\n')),
    ("thunderbird", f"{T}prefs.js", check("check-pref-value mail.on true"), said('user_pref("mail.on", true);\n'), said('user_pref("mail.on", false);\n')),
    ("thunderbird", f"{T}Mail/Local Folders/Drafts", check("check-draft-exists Weekly report"), said(MAIL), said(MAIL.replace("Weekly", "Daily"))),
    ("thunderbird", f"{T}Mail/Local Folders/Drafts", check("check-draft-content Weekly numbers"), said(MAIL), said(MAIL.replace("numbers", "words"))),
    ("thunderbird", f"{T}Mail/Local Folders/Drafts", check("check-message-to Drafts Weekly report ada@x.test"), said(MAIL), said(MAIL.replace("To: ada", "Cc: ada"))),
    ("thunderbird", f"{T}calendar-data/local.sqlite", check("check-event-exists Review"), db("CREATE TABLE cal_events (title TEXT)", "INSERT INTO cal_events VALUES ('The review')"), db("CREATE TABLE cal_events (title TEXT)")),
    ("thunderbird", f"{T}Mail/Local Folders/msgFilterRules.dat", check("check-filter-condition Boss urgent"), said('name="Boss"\ncondition="AND (subject,contains,urgent)"\n'), said('name="Boss"\ncondition="AND (from,contains,x)"\n')),
    ("firefox", f"{F}places.sqlite", check("check-url-visited wiki/Rust"), db(PLACES, "INSERT INTO moz_places VALUES (1, 'https://w.test/wiki/Rust_', 'R')"), db(PLACES)),
    ("firefox", f"{F}places.sqlite", check("check-bookmark Rust"), db(PLACES, BOOKMARKS, "INSERT INTO moz_places VALUES (1, 'https://w.test/Rust', 'R')", "INSERT INTO moz_bookmarks VALUES (1, 1, 'R')"), db(PLACES, BOOKMARKS, "INSERT INTO moz_places VALUES (1, 'https://w.test/Rust', 'R')")),
    ("firefox", f"{F}prefs.js", check("check-pref browser.download.folderList 2"), said('user_pref("browser.download.folderList", 2);\n'), said('user_pref("browser.download.folderList", 1);\n')),
    ("vlc", ".config/vlc/vlcrc", check("check-config snapshot-prefix vlcsnap"), said("[core]\nsnapshot-prefix=vlcsnap\n"), said("[core]\n#snapshot-prefix=vlcsnap\n")),
    ("pcmanfm", ".config/pcmanfm/default/pcmanfm.conf", check("check-config-value ui view_mode list"), said("[ui]\nview_mode=list\n"), said("[ui]\nview_mode=icon\n")),
    ("pcmanfm", ".config/gtk-3.0/bookmarks", check("check-bookmark-exists /home/user/Study"), said("file:///home/user/Study\n"), said("file:///home/user/Other\n")),
]  # fmt: skip
EVERY = [
    *((app, f"Documents/{name}", one, right, wrong) for app, name, one, right, wrong in DOCUMENTS),
    *PROFILES,
]


def state(folder: Path, file: str, *makers: Maker) -> Path:
    """A home with the file as these leave it."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for one in makers:
        one(path)
    return folder


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check by itself is a task, also where it only counts."""
    monkeypatch.setattr(opencomputer, "COUNTS", frozenset())


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(("app", "file", "one", "right", "wrong"), EVERY, ids=[f"{case[0]}: {case[2]['command'].replace(D, '')}" for case in EVERY])  # fmt: skip
def test_a_check_is_met_by_the_right_state_alone(
    app: str, file: str, one: dict[str, Any], right: Maker, wrong: Maker, tmp_path: Path
) -> None:
    """Of nothing that stood there; a goal that was so at the start is none that was reached."""
    [made] = imported(tmp_path, task(app, one, document=file.rpartition("/")[2]))
    rules = rules_of(made)
    empty, done = state(tmp_path / "empty", file), state(tmp_path / "right", file, right)
    bad = state(tmp_path / "wrong", file, wrong)
    found = {
        name: paid(rules, *homes)
        for name, homes in {
            "right": (empty, done),
            "wrong": (empty, bad),
            "repaired": (bad, done),
            "untouched": (done, done),
            "left wrong": (bad, bad),
        }.items()
    }
    both, none = ({"check-1", "goal"}, True), set[str]()
    assert (found["right"], found["repaired"]) == (both, both)
    assert [found[name][0] for name in ("wrong", "untouched", "left wrong")] == [none] * 3


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(("app", "file", "one", "right"), [case[:4] for case in EVERY[::6]])
def test_a_check_pays_no_adversary(
    app: str, file: str, one: dict[str, Any], right: Maker, tmp_path: Path
) -> None:
    [made] = imported(tmp_path, task(app, one, document=file.rpartition("/")[2]))
    rules = rules_of(made)
    homes = state(tmp_path / "empty", file), state(tmp_path / "right", file, right)
    results = [*attack(make_oracle(rules, told(rules, *homes)))]
    assert [*map(finding, fallen(results))] == []
    assert results


def typed(value: str) -> Said:
    data = {"app": "galculator", "window": "w", "widget": {"role": "entry", "name": ""}, "text": value}  # fmt: skip
    return ("widget.text_changed", data)


@pytest.mark.parametrize(("shown", "met"), [("59", True), ("59.0", False)])
def test_what_a_program_shows_counts_where_it_is_heard(
    shown: str, met: bool, tmp_path: Path
) -> None:
    [made] = imported(tmp_path, task("galculator", check("check-running"), check("check-display-value 59")))  # fmt: skip
    home = state(tmp_path / "home", "x")
    assert paid(rules_of(made), home, home, typed(shown))[1] is met


def test_a_document_is_saved_when_it_is_written(tmp_path: Path) -> None:
    """One that was only opened is not; theirs takes it for saved."""
    [made] = imported(tmp_path, task("libreoffice_calc", check("check-file-saved"), document="a.xlsx"))  # fmt: skip
    old = state(tmp_path / "old", "Documents/a.xlsx", book())
    new = state(tmp_path / "new", "Documents/a.xlsx", book(cells={"A1": 1}))
    assert [paid(rules_of(made), old, end)[1] for end in (new, old)] == [True, False]


def test_what_stands_at_the_start_is_no_check(tmp_path: Path) -> None:
    """A file that the task gives is there before anybody did anything."""
    one = task("gimp", check(f"check-file-exists {D}in.png"), check(f"check-file-exists {D}out.png"), given="in.png")  # fmt: skip
    [made] = imported(tmp_path, one)
    assert made.kind == opencomputer.WHOLE
    assert [step["id"] for step in made.spec["milestones"]] == ["check-2", "goal"]


VISITS: list[tuple[str, str, list[str], bool]] = [
    ("check-url-visited", "site.test/a", ["https://site.test/a"], True),
    ("check-url-visited", "site.test/a", ["https://site.test/a", "https://other.test/"], True),
    ("check-tab-open", "site.test/a", ["https://www.site.test/a?b"], True),
    ("check-tab-open", "site.test/a", ["https://site.test/a", "https://other.test/"], False),
    ("check-tab-open", "site.test/a", ["https://other.test/?site.test/a"], False),
    ("check-tab-open", "site.test/a", ["https://nosite.test/a"], False),
    ("check-tab-open", "site.test", ["https://site.test:8080/"], True),
    ("check-tab-open", "site.test", ["https://site.test.evil/"], False),
    ("check-tab-open", "form.html", ["file:///home/user/form.html"], True),
    ("check-tab-open", "wiki/Rust", ["https://site.test/wiki/Rust"], True),
    *(
        ("check-tab-open", word, [page], page.endswith(word))
        for word in (
            "report.csv",
            "notes.md",
            "data.json",
            "page.php",
            "a.svg",
            "v1.2",
            "FORM.HTML",
        )
        for page in (
            f"file:///home/user/{word}",
            f"https://site.test/{word}",
            "https://site.test/other",
        )
    ),
    ("check-tab-open", "127.0.0.1", ["http://127.0.0.1:8000/a"], True),
    ("check-tab-open", "127.0.0.1", ["https://other.test/?127.0.0.1"], False),
    ("check-tab-open", "docs.site.test/v1.2", ["https://docs.site.test/v1.2/"], True),
    ("check-tab-open", "docs.site.test/v1.2", ["https://other.test/docs.site.test/v1.2"], False),
]


@pytest.mark.parametrize(("command", "word", "pages", "solved"), VISITS)
def test_a_visit_may_be_over_and_an_open_tab_may_not(
    command: str, word: str, pages: list[str], solved: bool, tmp_path: Path
) -> None:
    """A host is one: not a word of another site's address."""
    [made] = imported(tmp_path, task("chrome", check(f"{command} {word}")))
    home = state(tmp_path / "home", "x")
    assert paid(rules_of(made), home, home, *map(went, pages))[1] is solved


UNKNOWN = {
    "vlc": check("check-playing"),
    "firefox": check("check-tab-open rust"),
    "gimp": check(f"check-pixel-color-file {D}a.png 1 1 0 0 0"),
    "libreoffice_calc": check("cell-value A1", "__import__('os').system('true') == 0"),
    "drawio": {"command": f"connections {D}a.drawio", "judge": "llm", "prompt": "?"},
    "inkscape": check("check-file-exists /tmp/a.svg"),
    "gedit": check(f'check-file-contains {D}a.txt "open'),
}


@pytest.mark.parametrize("app", UNKNOWN)
def test_what_can_not_be_told_is_said(app: str, tmp_path: Path) -> None:
    """A task of nothing else is refused; beside others the check is left out. No expression runs."""
    [made] = imported(tmp_path, task(app, UNKNOWN[app], document="a.xlsx"))
    assert (made.spec, made.kind) == (None, opencomputer.REFUSED)
    assert made.remarks[0].startswith("check 1: ")


BROKEN = {
    "no JSON": ("{", "line 1: no JSON"),
    "another program": (json.dumps(task("emacs")), "line 1: wanted lines of JSON"),
    "nothing": ("", "wanted lines of JSON"),
}


@pytest.mark.parametrize(("content", "says"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_list_of_its_tasks_is_named(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tasks.jsonl").write_text(content)
    assert main(["coverage", "opencomputer", str(tmp_path)]) == 1
    assert says in capsys.readouterr().err


LASTING: list[tuple[str, dict[str, Any], str]] = [
    ("gimp", check(f"check-file-exists {D}a.png"), "Of 1 checks that a file or a profile decides, 1 are told (100.0%); 0"),
    ("gimp", UNKNOWN["gimp"], "Of 1 checks that a file or a profile decides, 0 are told (0.0%); 0"),
    ("gimp", check(f"check-file-exists {D}in.png"), "Of 0 checks that a file or a profile decides, 0 are told; 1"),
    ("vlc", UNKNOWN["vlc"], "Of 0 checks that a file or a profile decides, 0 are told; 0"),
    ("galculator", check("check-display-value 59"), "Of 0 checks that a file or a profile decides, 0 are told; 0"),
    ("drawio", UNKNOWN["drawio"], "Of 0 checks that a file or a profile decides, 0 are told; 0"),
]  # fmt: skip


@pytest.mark.parametrize(("app", "one", "says"), LASTING)
def test_what_a_file_decides_is_counted_alone(
    app: str, one: dict[str, Any], says: str, tmp_path: Path
) -> None:
    """Neither what a program shows now nor what a model makes of it is among these."""
    line = json.dumps(task(app, one, document="a.xlsx", given="in.png"))
    (tmp_path / "tasks.jsonl").write_text(line)
    note = f"{says} more are true at the start."
    assert note in opencomputer.coverage(tmp_path).markdown()


@needs_cases
def test_the_published_table_is_what_the_command_prints() -> None:
    assert published("opencomputer") == opencomputer.coverage(OPENCOMPUTER).markdown()


@pytest.mark.parametrize(
    ("app", "command", "document"),
    [
        ("pcmanfm", f"check-dir-exists {D}a", ""),
        ("gedit", "check-setting-value tabs-size 4", ""),
        ("gedit", "check-tab-size 4", ""),
        ("pcmanfm", f"check-permissions {D}a 644", ""),
        ("pcmanfm", f"check-file-count {D}a 2", ""),
        ("libreoffice_calc", "check-sheet-count 2", "a.xlsx"),
        ("libreoffice_draw", f"check-page-property 0 name Cover {D}a.odg", "a.odg"),
    ],
)
def test_that_it_is_not_so_makes_no_milestone_that_it_is(
    tmp_path: Path, app: str, command: str, document: str
) -> None:
    [made] = imported(tmp_path, task(app, check(command, expected=False), document=document))
    assert made.spec is None
    assert "not so" in made.remarks[0]
