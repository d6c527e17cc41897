"""XML and HTML: no entity is expanded, nothing else is fetched."""

from __future__ import annotations

from typing import Any, BinaryIO

from agentd.readers.bounds import MAX_DEPTH, DamagedError, HeavyError
from agentd.readers.tables import sheet
from agentd.readers.texts import decoded, whole


def read_xml(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{root, value, text}``: the root's name; elements as objects, an attribute as ``@name``,
    text as ``#text`` or, where there is nothing else, as the value itself; repeated ones as a list;
    and all texts, a line each."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(whole(file))
    except DefusedXmlException as error:
        raise HeavyError(f"it declares entities: {error}") from None
    except (ParseError, ValueError) as error:
        raise DamagedError(f"no XML: {error}") from None
    texts = (text for one in root.iter() for text in (one.text, one.tail) if text and text.strip())
    return {
        "root": _local(root.tag),
        "value": _element(root, 0),
        "text": "\n".join(text.strip() for text in texts),
    }


def _element(element: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return None
    found: dict[str, Any] = {f"@{_local(name)}": value for name, value in element.attrib.items()}
    for child in element:
        name, value = _local(child.tag), _element(child, depth + 1)
        if name in found:
            found[name] = (
                [*found[name], value] if isinstance(found[name], list) else [found[name], value]
            )
        else:
            found[name] = value
    text = (element.text or "").strip()
    if not found:
        return text
    return {**found, "#text": text} if text else found


def _local(name: str) -> str:
    return str(name).rpartition("}")[2]


def read_html(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{title, text, links, headings, sheets}``: links as {text, href}, tables as sheets."""
    from lxml import etree, html

    text = decoded(file)
    parser = html.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8")
    try:
        page = html.document_fromstring(text.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise DamagedError(f"no HTML: {error}") from None
    etree.strip_elements(page, "script", "style", "noscript", with_tail=False)
    return {
        "title": _text(page.find(".//title")),
        "text": "\n".join(line for part in page.itertext() if (line := " ".join(str(part).split()))),
        "links": [{"text": _text(one), "href": str(one.get("href"))} for one in page.iter("a") if one.get("href")],
        "headings": [_text(one) for one in page.iter("h1", "h2", "h3", "h4", "h5", "h6")],
        "sheets": [
            sheet("", [[_text(cell) for cell in row.iter("td", "th")] for row in table.iter("tr")])
            for table in page.iter("table")
        ],
    }  # fmt: skip


def _text(element: Any) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
