"""An order's invoice as CSV and as a PDF written by hand: one page, one font, no library."""

from __future__ import annotations

import csv
import io

from .catalog import PRODUCTS, money
from .state import Order


def rows(order: Order) -> list[list[str]]:
    """The invoice as a table, its head first and its sum last."""
    table = [["order", "article", "pieces", "cents"]]
    total = 0
    for slug, pieces in order.lines:
        cents = PRODUCTS[slug].cents * pieces
        total += cents
        table.append([str(order.number), PRODUCTS[slug].name, str(pieces), str(cents)])
    table.append([str(order.number), "total", "", str(total)])
    return table


def as_csv(order: Order) -> bytes:
    """The invoice as a CSV file in UTF-8."""
    out = io.StringIO()
    csv.writer(out).writerows(rows(order))
    return out.getvalue().encode()


def as_pdf(order: Order) -> bytes:
    """The invoice as a PDF of one page."""
    lines = [f"Invoice {order.number} for {order.name}", order.address, ""]
    for _, article, pieces, cents in rows(order)[1:]:
        lines.append(
            f"{pieces + ' x ' if pieces else ''}{article}  "
            f" {money(int(cents)).replace('€', 'EUR ')}"
        )
    text = " T* ".join(f"({_escaped(line)}) Tj" for line in lines)
    content = f"BT /F1 14 Tf 20 TL 72 760 Td {text} ET".encode("latin-1", "replace")
    return _document(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font"
        b" << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _document(*objects: bytes) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        out += b"%010d 00000 n \n" % offset
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        table,
    )
    return bytes(out)
