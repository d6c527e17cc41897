"""XML and HTML: no entity is expanded, nothing else is fetched."""

from __future__ import annotations

from typing import Any, BinaryIO

from agentd.readers.bounds import MAX_DEPTH, DamagedError, HeavyError
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.tables import sheet
from agentd.readers.texts import decode_text, whole


def read_xml(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{root, value, text}``: the root's name, its value, and all texts, a line each.

    Elements are objects, an attribute is ``@name``, text is ``#text`` or, where there is nothing
    else, the value itself; repeated elements are a list.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(whole(file))
    except DefusedXmlException as error:
        raise HeavyError(f"it declares entities: {error}") from None
    except (ParseError, ValueError) as error:
        raise DamagedError(f"no XML: {error}") from None
    texts = [text for element in root.iter() for text in (element.text, element.tail)]
    return {
        "root": _local(root.tag),
        "value": _element(root, 0),
        "text": "\n".join(text.strip() for text in texts if text and text.strip()),
    }


def _element(element: Any, depth: int) -> Any:
    """Return an element as a value: its text alone, or an object of attributes (@name), children
    and text; None beyond `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        return None
    value: Facts = {f"@{_local(name)}": text for name, text in element.attrib.items()}
    for child in element:
        _add_child(value, _local(child.tag), _element(child, depth + 1))
    text = (element.text or "").strip()
    if not value:
        return text
    return {**value, "#text": text} if text else value


def _add_child(parent: Facts, name: str, child: object) -> None:
    """Put a child's value under its name; several of one name become a list."""
    if name not in parent:
        parent[name] = child
    elif isinstance(parent[name], list):
        parent[name].append(child)
    else:
        parent[name] = [parent[name], child]


def _local(name: str) -> str:
    return str(name).rpartition("}")[2]


def read_html(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{title, text, links: [{text, href}], headings: [text], sheets}``; tables are
    sheets."""
    from lxml import etree, html

    text = decode_text(file)
    parser = html.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8")
    try:
        page = html.document_fromstring(text.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise DamagedError(f"no HTML: {error}") from None
    etree.strip_elements(page, "script", "style", "noscript", with_tail=False)
    lines = [" ".join(str(part).split()) for part in page.itertext()]
    links = [link for link in page.iter("a") if link.get("href")]
    return {
        "title": _text(page.find(".//title")),
        "text": "\n".join(line for line in lines if line),
        "links": [{"text": _text(link), "href": str(link.get("href"))} for link in links],
        "headings": [_text(heading) for heading in page.iter("h1", "h2", "h3", "h4", "h5", "h6")],
        "sheets": [_table(table) for table in page.iter("table")],
    }


def _table(table: Any) -> Facts:
    """Return the cells of an HTML table, row by row."""
    rows = [[_text(cell) for cell in row.iter("td", "th")] for row in table.iter("tr")]
    return sheet("", rows)


def _text(element: Any) -> str:
    """Return all text below an element, white space folded; "" for no element."""
    return "" if element is None else " ".join("".join(element.itertext()).split())
