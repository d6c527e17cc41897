"""LibreOffice's checks: a saved workbook, text, presentation, drawing, as the readers tell it."""

from __future__ import annotations

import ast
import math
import re
from functools import partial

from detectors.model.json_value import JsonObject, JsonValue
from lab.benchmarks.opencomputer import expressions
from lab.benchmarks.opencomputer.base import (
    Readers,
    TaskOf,
    Told,
    UntoldCheckError,
    UpstreamCheck,
    all_of,
    any_of,
    apply_truth,
    below_home,
    contains,
    document_of,
    equals,
    exists,
    facts,
    in_file,
    require_true,
    truth,
    whole_number,
    without,
    written,
)

MAX_TABLES = 8
"""Tables of a text among which one is looked for."""
MAX_SHEETS = 12
_NAMED_CELL = re.compile(
    r"\(lambda d: len\(d\) > \d and len\(d\[\d\]\) > \d and d\[(\d)\]\[(\d)\] == '([^']*)'\)"
    r"\(next\(\(t for t in result\.get\('tables', \[\]\) if t\['name'\] == '([^']*)'\), \{\}\)"
    r"\.get\('data', \[\]\)\)"
)
"""The form in which a cell of a table of one name is asked for."""
_NUMBERED = re.compile(r"result\['tables'\]\[(\d)\]")
_ROWS = re.compile(r"len\(t(?:\['data'\]|\.get\('data', \[\]\))\)")
"""How the number of a table's rows is asked for."""
_UNSET = re.compile(r"\$")


def saved_document(check: UpstreamCheck, task: TaskOf) -> Told:
    """Its document was written: of one that was only opened, theirs holds too."""
    return Told(written(document_of(task)), "as meant")


def file_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file is there that the check names."""
    return exists(check.word(1), task)


def _cell(text: str) -> JsonValue:
    try:
        return {"number": float(text)}
    except ValueError:
        return equals(text)


def _sheet(name: str | None) -> JsonObject:
    return {} if name is None else {"sheet": equals(name)}


def _named(check: UpstreamCheck, place: int) -> str | None:
    return check.words[place] if place < len(check.words) else None


def cell_value(check: UpstreamCheck, task: TaskOf) -> Told:
    """A cell has a value, by number or text; an empty one never."""
    path, place = document_of(task), check.word(1).upper()
    sheet = _sheet(_named(check, 3))
    when = in_file("table_cells", path, cells={place: _cell(check.word(2))}, **sheet)
    return Told(apply_truth(check, path, when))


def cell_query(check: UpstreamCheck, task: TaskOf) -> Told:
    """What an expression says of a cell's value and formula."""
    path, place, sheet = document_of(task), check.word(1).upper(), _sheet(_named(check, 2))

    def about(what: str, value: JsonValue) -> JsonObject:
        return in_file("table_cells", path, **{what: {place: value}}, **sheet)

    def leaf(tree: ast.expr) -> JsonObject | None:
        """Return what one comparison asks of the cell, by its value, its formula, or how near it
        comes to a number."""
        match tree:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left, sign, right)]),
                ops=[ast.Lt() | ast.LtE() as nearer],
                comparators=[most],
            ) if expressions.result_name(left) == "value":
                return about("cells", _near_number(sign, right, nearer, most))
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                return _in_formula(left, right, about)
            case ast.Compare(
                left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]
            ) if expressions.result_name(left) == "formula":
                return about("formulas", {"starts_with": "="})
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if (
                expressions.result_name(left) == "value"
            ):
                return about("cells", _cell(str(expressions.constant(right))))
            case ast.Call(func=ast.Attribute(value=left, attr="startswith"), args=[first]) if (
                expressions.result_name(left) == "formula"
            ):
                start = str(expressions.constant(first))
                return about("formulas", {"starts_with": start, "ignore_case": True})
        raise expressions.unknown(tree)

    return Told(
        _require_condition(
            expressions.condition(expressions.parse_expression(check.expression or ""), leaf)
        )
    )


def _near_number(
    sign: ast.operator, right: ast.expr, nearer: ast.cmpop, most: ast.expr
) -> JsonObject:
    """A number that is as far away as told, at most; or nearer than that."""
    number, tolerance = expressions.constant(right), expressions.constant(most)
    if not isinstance(number, int | float) or not isinstance(sign, ast.Add | ast.Sub):
        raise expressions.unknown(right)
    if not isinstance(tolerance, int | float):
        raise expressions.unknown(most)
    if isinstance(nearer, ast.Lt):
        tolerance = math.nextafter(tolerance, 0.0)
    return {"number": -number if isinstance(sign, ast.Add) else number, "tolerance": tolerance}


def _in_formula(left: ast.expr, right: ast.expr, about: partial[JsonObject] | object) -> JsonObject:
    """Return that a cell's formula has a text in it, in either way of writing another sheet's
    cells."""
    if expressions.result_name(right) != "formula" or not callable(about):
        raise expressions.unknown(right)
    # Office and file write a formula's sheets otherwise: =$Q1.B2 there is =Q1!B2 here.
    text = _UNSET.sub("", str(expressions.constant(left)))
    return about("formulas", {"any_of": [contains(text), contains(text.replace(".", "!"))]})


def _require_condition(when: JsonObject | None) -> JsonObject:
    if when is None:
        raise UntoldCheckError("an expression that is always true")
    return when


def cell_bold(check: UpstreamCheck, task: TaskOf) -> Told:
    """A cell with something in it is set in bold."""
    path, place, sheet = document_of(task), check.word(1).upper(), _named(check, 3)
    is_bold = (_named(check, 2) or "true").lower() == "true"

    def bold_in(number: int) -> JsonObject:
        """Return that the cell of sheet ``number`` is bold, or is not; with the sheet's name, where
        the check gives one."""
        name: JsonObject = {} if sheet is None else {f"sheets.{number}.name": equals(sheet)}
        mark: JsonValue = True if is_bold else None
        return facts(path, {**name, f"sheets.{number}.bold.{place}": mark})

    sheets = range(1 if sheet is None else MAX_SHEETS)
    return Told(apply_truth(check, path, any_of(*map(bold_in, sheets))))


def sheet_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A workbook has a sheet of that name."""
    path = document_of(task)
    rows: JsonObject = {"min": 0}
    return Told(
        apply_truth(
            check, path, in_file("table_cells", path, sheet=equals(check.word(1)), rows=rows)
        )
    )


def _count(path: str, at: str, number: int) -> JsonObject:
    """A list of the facts has so many items, each with a name or title."""
    last: JsonObject = {f"{at}.{number - 1}.name": {"regex": ".+"}} if number else {}
    return facts(path, {f"{at}.{number}": None, **last})


def sheet_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A workbook has so many sheets."""
    require_true(check)
    return Told(_count(document_of(task), "sheets", whole_number(check.word(1))))


def heading(check: UpstreamCheck, task: TaskOf) -> Told:
    """A paragraph of that text is a heading, of a level where one is named."""
    path, level = document_of(task), _named(check, 2)
    of_level: JsonValue = {"min": 1} if level is None else whole_number(level)
    has: JsonObject = {"text": check.word(1), "level": of_level}
    return Told(apply_truth(check, path, in_file("document_part", path, has=has)))


def paragraph(check: UpstreamCheck, task: TaskOf) -> Told:
    """The paragraph of that number says this."""
    path, number = document_of(task), whole_number(check.word(1)) + 1
    part = in_file("document_part", path, has={"text": check.words_from(2)}, number=number)
    return Told(apply_truth(check, path, part))


def paragraph_bold(check: UpstreamCheck, task: TaskOf) -> Told:
    """The first words of the paragraph of that number are bold, or not."""
    path, number = document_of(task), whole_number(check.word(1)) + 1
    mark: JsonValue = True if (_named(check, 2) or "true").lower() == "true" else None
    part = in_file("document_part", path, has={"bold": mark}, number=number)
    return Told(apply_truth(check, path, part))


def paragraph_style(check: UpstreamCheck, task: TaskOf) -> Told:
    """The paragraph of that number has the style."""
    path, number = document_of(task), whole_number(check.word(1)) + 1
    style = re.escape(check.words_from(2).replace(" ", "")).replace("_20_", "")
    spaced = "(?:_20_| )?".join(re.findall(r"\\?.", style))
    part = in_file("document_part", path, has={"style": {"regex": f"(?i){spaced}"}}, number=number)
    return Told(apply_truth(check, path, part))


def paragraph_format(check: UpstreamCheck, task: TaskOf) -> Told:
    """A paragraph is bold, by an expression."""
    if check.expression != "result.get('bold', False) == True":
        raise UntoldCheckError(f"a paragraph's looks: {check.expression}")
    return paragraph_bold(UpstreamCheck((*check.words, "true"), True, None), task)


def paragraphs(check: UpstreamCheck, task: TaskOf) -> Told:
    """Some paragraph says this, by an expression."""
    found = re.fullmatch(
        r"any\(p\.get\('text', ''\) == '([^']*)' for p in result\.get\('paragraphs', \[\]\)\)",
        check.expression or "",
    )
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    return Told(in_file("document_part", document_of(task), has={"text": found[1]}))


def text_contains(check: UpstreamCheck, task: TaskOf) -> Told:
    """The document's text has this in it."""
    path = document_of(task)
    return Told(
        apply_truth(check, path, in_file("file_text", path, text=contains(check.words_from(1))))
    )


def words(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text has at least so many words."""
    path, least = document_of(task), whole_number(check.word(1))
    if _named(check, 2) is not None or not 1 < least <= 1000:
        raise UntoldCheckError("a number of words between two")
    pattern = rf"(?s)(?:\S+\s+){{{least - 1}}}\S.*"
    return Told(in_file("file_text", path, text={"regex": pattern}))


def search(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text is nowhere any more, by an expression; how often one is there, no rule counts."""
    path = document_of(task)
    if check.expression != "result.get('count', 1) == 0":
        raise UntoldCheckError("how often a text is there")
    return Told(without(path, in_file("file_text", path, text=contains(check.words_from(1)))))


def around(check: UpstreamCheck, task: TaskOf) -> Told:
    """What stands in the header or footer, by an expression."""
    path = document_of(task)

    def leaf(tree: ast.expr) -> JsonObject | None:
        """Return what one comparison asks of a header or footer: its text, a part of it, or that
        there is one."""
        match tree:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return about(expressions.result_name(left), str(expressions.constant(right)))
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                return about(
                    expressions.result_name(right),
                    contains(str(expressions.constant(left)), any_case=False),
                )
        name = expressions.result_name(tree)
        if name in ("header_on", "footer_on"):
            return about(f"{name[:6]}_text", {"regex": "(?s).+"})
        raise expressions.unknown(tree)

    def about(name: str | None, text: JsonValue) -> JsonObject:
        if name not in ("header_text", "footer_text"):
            raise UntoldCheckError(f"what stands in {name}")
        return facts(path, {name.removesuffix("_text"): text})

    return Told(
        _require_condition(
            expressions.condition(expressions.parse_expression(check.expression or ""), leaf)
        )
    )


def bookmarks(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text has bookmarks of these names, by an expression."""
    path = document_of(task)

    def leaf(tree: ast.expr) -> JsonObject | None:
        match tree:
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if (
                expressions.result_name(right) == "bookmarks"
            ):
                return facts(path, {f"bookmarks.{expressions.constant(left)}": True})
        raise expressions.unknown(tree)

    return Told(
        _require_condition(
            expressions.condition(expressions.parse_expression(check.expression or ""), leaf)
        )
    )


def table_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text has a table of that name."""
    return sheet_exists(check, task)


def table_cell(check: UpstreamCheck, task: TaskOf) -> Told:
    """A table's cell, by row and column from 0, says this."""
    path = document_of(task)
    row, column = whole_number(check.word(2)) + 1, whole_number(check.word(3))
    if not 0 <= column < 26:
        raise UntoldCheckError("a column beyond the 26th")
    cells: JsonObject = {f"{chr(65 + column)}{row}": _cell(check.words_from(4))}
    when = in_file("table_cells", path, sheet=equals(check.word(1)), cells=cells)
    return Told(apply_truth(check, path, when))


def tables(check: UpstreamCheck, task: TaskOf) -> Told:
    """Some table of a text has these cells, by an expression."""
    path = below_home(check.word(1)) if len(check.words) > 1 else document_of(task)
    named = _NAMED_CELL.fullmatch(check.expression or "")
    if named is not None:
        cells: JsonObject = {f"{chr(65 + int(named[2]))}{int(named[1]) + 1}": named[3]}
        return Told(in_file("table_cells", path, sheet=named[4], cells=cells))
    tree = expressions.parse_expression(check.expression or "")
    return Told(_require_condition(expressions.condition(tree, partial(_of_tables, path))))


def _of_tables(path: str, tree: ast.expr) -> JsonObject | None:
    """Return what one expression asks of a document's tables: of any of them, of how many there
    are, or of one by its number."""
    match tree:
        case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp(elt=element)]):
            made = [_cells_of(element, number) for number in range(MAX_TABLES)]
            return any_of(*(facts(path, cells) for cells in made))
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[inner]),
            ops=[operator],
            comparators=[right],
        ) if expressions.result_name(inner) == "tables":
            least = expressions.limits(operator, expressions.constant(right)).get("min")
            if not isinstance(least, int) or least < 1:
                raise expressions.unknown(tree)
            return facts(path, {f"sheets.{least - 1}.size.0": {"min": 1}})
        case ast.Compare():
            numbered = _NUMBERED.search(ast.unparse(tree))
            if numbered is None:
                raise expressions.unknown(tree)
            of_one = ast.unparse(tree).replace(numbered[0], "t")
            return facts(path, _cells_of(expressions.parse_expression(of_one), int(numbered[1])))
    raise expressions.unknown(tree)


def _cells_of(tree: ast.expr, number: int) -> JsonObject:
    """The facts of one table's cells that an expression about ``t`` asks for."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        found: dict[str, JsonValue] = {}
        for part in tree.values:
            found.update(_cells_of(part, number))
        return found
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise expressions.unknown(tree)
    told = _compared(tree.left, tree.ops[0], tree.comparators[0], f"sheets.{number}")
    if told is None:
        raise expressions.unknown(tree)
    return told


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, at: str) -> JsonObject | None:
    """The facts below ``at``, a table, that one comparison asks for; None for one of another
    form."""
    if isinstance(operator, ast.In):
        place = _place(right)
        if place is None:
            return None
        words = contains(str(expressions.constant(left)), any_case=False)
        return {f"{at}.rows.{place}": words}
    text = ast.unparse(left)
    if _ROWS.fullmatch(text):
        return {f"{at}.size.0": expressions.limits(operator, expressions.constant(right))}
    if "len(" in text:
        return {}  # what is asked of a cell says that its row has it
    if isinstance(operator, ast.Eq):
        is_name = text == "t['name']"
        if is_name:
            return {f"{at}.name": str(expressions.constant(right))}
        place = _place(left)
        if place is not None:
            return _cell_facts(f"{at}.rows.{place}", expressions.constant(right))
    size = re.fullmatch(r"t(?:\.get\('(rows|cols)', 0\)|\['(rows|cols)'\])", text)
    if size is None:
        return None
    along = 0 if "rows" in size.groups() else 1
    bounds = expressions.limits(operator, expressions.constant(right))
    return {f"{at}.size.{along}": bounds}


def _place(tree: ast.expr) -> str | None:
    """The row, or the row and column, that ``t['data'][r][c]`` names."""
    data = r"t(?:\['data'\]|\.get\('data', (?:\[\]|\[\[\]\])\))"
    text = ast.unparse(tree).removesuffix(".strip()")
    found = re.fullmatch(data + r"\[(\d+)\](?:\[(\d+)\])?", text)
    if found is None:
        return None
    return found[1] if found[2] is None else f"{found[1]}.{found[2]}"


def _cell_facts(at: str, value: JsonValue) -> JsonObject:
    """Return the facts of a row, cell by cell, or of one cell, whose text is ``value``."""
    if isinstance(value, list):
        return {f"{at}.{column}": str(text) for column, text in enumerate(value)}
    return {at: str(value)}


def slide_contains(check: UpstreamCheck, task: TaskOf) -> Told:
    """A slide, or a drawing's page, says this somewhere."""
    path, number = document_of(task), whole_number(check.word(1)) + 1
    when = in_file(
        "file_text", path, unit="slide", number=number, text=contains(check.words_from(2))
    )
    return Told(apply_truth(check, path, when))


def slide_text(check: UpstreamCheck, task: TaskOf) -> Told:
    """A slide does not say something, by an expression."""
    path, number = document_of(task), whole_number(check.word(1)) + 1
    found = re.fullmatch(
        r"'([^']*)' not in result\.get\('full_text', ?''\)", check.expression or ""
    )
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    says = in_file(
        "file_text", path, unit="slide", number=number, text=contains(found[1], any_case=False)
    )
    is_there = facts(path, {"count": {"min": number}})
    return Told(all_of(without(path, says), is_there), "as meant")


def notes_contain(check: UpstreamCheck, task: TaskOf) -> Told:
    """A slide's notes say this somewhere."""
    path = document_of(task)
    when = facts(
        path, {f"slides.{whole_number(check.word(1))}.notes": contains(check.words_from(2))}
    )
    return Told(apply_truth(check, path, when))


def notes(check: UpstreamCheck, task: TaskOf) -> Told:
    """A slide has notes, by an expression."""
    if check.expression != "len(result.get('notes','').strip()) > 0":
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    at = f"slides.{whole_number(check.word(1))}.notes"
    return Told(facts(document_of(task), {at: {"regex": r"(?s).*\S.*"}}))


def slide_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A presentation or drawing has so many slides or pages."""
    path = document_of(task)
    return Told(apply_truth(check, path, facts(path, {"count": whole_number(check.word(1))})))


def transition(check: UpstreamCheck, task: TaskOf) -> Told:
    """A slide has a transition, of whatever kind."""
    path = document_of(task)
    at = f"slides.{whole_number(check.word(1))}.transition"
    return Told(apply_truth(check, path, facts(path, {at: True})))


_SHAPES = {
    "rectangleshape": ("rect", "rectangle"),
    "ellipseshape": ("ellipse", "circle"),
    "connectorshape": ("connector",),
    "textshape": ("frame",),
    "lineshape": ("line",),
    "rect": ("rect", "rectangle", "round-rectangle"),
    "rectangle": ("rect", "rectangle", "round-rectangle"),
    "ellipse": ("ellipse", "circle"),
    "connector": ("connector",),
    "line": ("line",),
    "text": ("frame",),
}
"""Their names of shapes, in small letters, and what the reader calls these."""
MAX_SHAPES = 40
"""Shapes of a page among which one is looked for."""


def shape_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has a shape of that kind among its first ones."""
    path, page, name = document_of(task), whole_number(check.word(1)), check.word(2).lower()
    if name not in _SHAPES:
        raise UntoldCheckError(f"a shape of the kind {name}")
    kinds: JsonObject = {"one_of": [*_SHAPES[name]]}
    places = [facts(path, {f"slides.{page}.shapes.{n}": kinds}) for n in range(MAX_SHAPES)]
    return Told(apply_truth(check, path, any_of(*places)))


def _shapes(path: str, page: str, least: int, most: int | None) -> JsonObject:
    """Return that a slide has ``least`` shapes or more and ``most`` or fewer; None: without a
    limit."""
    found: dict[str, JsonValue] = {}
    if least:
        found[f"slides.{page}.shapes.{least - 1}"] = {"regex": ".+"}
    if most is not None:
        found[f"slides.{page}.shapes.{most}"] = None
    return facts(path, found)


def shape_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has so many shapes of its own."""
    path, number = document_of(task), whole_number(check.word(2))
    return Told(apply_truth(check, path, _shapes(path, check.word(1), number, number)))


def pages(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has at least so many shapes, by an expression."""
    found = re.fullmatch(
        r"result\['pages'\]\[(\d)\]\['shape_count'\] >= (\d+)", check.expression or ""
    )
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    return Told(_shapes(document_of(task), found[1], int(found[2]), None))


def page_property(check: UpstreamCheck, task: TaskOf) -> Told:
    """A drawing's page has a name; its size, margins and fill no reader tells."""
    require_true(check)
    if check.word(2) != "name":
        raise UntoldCheckError("a drawing's page size, margins or fill")
    path = document_of(task)
    return Told(facts(path, {f"slides.{whole_number(check.word(1))}.title": equals(check.word(3))}))


def pdf_pages(check: UpstreamCheck, task: TaskOf) -> Told:
    """A PDF has so many pages."""
    require_true(check)
    return Told(facts(below_home(check.word(1)), {"count": whole_number(check.word(2))}))


def draw_preference(check: UpstreamCheck, task: TaskOf) -> Told:
    """A setting of the office: its own command never holds; no reader tells it by its path."""
    raise UntoldCheckError("a setting among the office's registry items")


def _always_saved(check: UpstreamCheck, task: TaskOf) -> Told:
    if truth(check) is not True:
        raise UntoldCheckError("that a document is unsaved")
    return saved_document(check, task)


CALC: Readers = {
    "check-cell-value": cell_value,
    "cell-value": cell_query,
    "check-cell-formatted": cell_bold,
    "check-file-saved": _always_saved,
    "check-sheet-exists": sheet_exists,
    "check-sheet-count": sheet_count,
    "check-file-exists": file_exists,
}
WRITER: Readers = {
    "check-heading-exists": heading,
    "parse-tables": tables,
    "check-file-saved": _always_saved,
    "check-text-contains": text_contains,
    "headers-footers": around,
    "check-table-cell": table_cell,
    "check-file-exists": file_exists,
    "search": search,
    "check-paragraph-formatted": paragraph_bold,
    "bookmarks": bookmarks,
    "check-word-count": words,
    "check-paragraph-style": paragraph_style,
    "check-paragraph-text": paragraph,
    "check-table-exists": table_exists,
    "paragraphs": paragraphs,
    "paragraph-format": paragraph_format,
}
IMPRESS: Readers = {
    "check-slide-contains": slide_contains,
    "check-slide-title": slide_contains,
    "check-notes-contain": notes_contain,
    "check-slide-count": slide_count,
    "check-file-exists": file_exists,
    "check-has-transition": transition,
    "notes": notes,
    "check-file-saved": _always_saved,
    "slide-text": slide_text,
}
DRAW: Readers = {
    "check-page-contains": slide_contains,
    "check-file-saved": _always_saved,
    "check-shape-exists": shape_exists,
    "pages": pages,
    "check-file-exists": file_exists,
    "check-page-count": slide_count,
    "check-page-property": page_property,
    "check-shape-count": shape_count,
    "check-draw-pref": draw_preference,
    "check-pdf-page-count": pdf_pages,
}
