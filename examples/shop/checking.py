"""What an order's form must hold; the words that the visitor reads where it does not."""

from __future__ import annotations

MAX_QUANTITY = 20


def problems(fields: dict[str, str]) -> dict[str, str]:
    """What is wrong, by field name; empty when the order can be placed."""
    found = {}
    if not fields.get("name", "").strip():
        found["name"] = "Please tell us your name."
    name, at, host = fields.get("email", "").strip().partition("@")
    if not (name and at and "." in host):
        found["email"] = "Please give an e-mail address, like ada@example.org."
    if len(fields.get("address", "").strip()) < 5:
        found["address"] = "Please give the address to deliver to."
    quantity = fields.get("quantity", "").strip()
    if not (quantity.isascii() and quantity.isdigit() and 1 <= int(quantity) <= MAX_QUANTITY):
        found["quantity"] = f"Please order between 1 and {MAX_QUANTITY} pieces."
    if fields.get("terms") != "on":
        found["terms"] = "Please accept the terms."
    return found
