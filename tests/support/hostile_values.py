"""Texts, JSON values and YAML that no reader may stumble over, whoever sends them and wherever they
stand."""

from __future__ import annotations

DEEP = 10_000

IN_ADDRESSES: dict[str, str] = {
    "NUL": "%00",
    "NUL within": "a%00b",
    "half a surrogate pair": "%ed%a0%80",
    "no UTF-8": "%ff%fe",
    "5,000 digits": "9" * 5_000,
    "too large for a float": "1e999",
    "no number": "NaN",
    "5,000 hexadecimal digits": "0x" + "f" * 5_000,
    "another script's digits": "%D9%A3",
    "a superscript digit": "%C2%B2",
    "beyond 64 bits": "18446744073709551616",
    "an address that is none": "http%3A%2F%2F%5B",
    "a place that is none": "%2F%2F%5B",
    "nothing": "",
}
"""Percent-encoded, as they stand in a path, a query or a form."""

IN_JSON: dict[str, str] = {
    "NUL": r'"\u0000"',
    "NUL within": r'"a\u0000b"',
    "half a surrogate pair": r'"\ud800"',
    "the other half": r'"a\udc00b"',
    "half a pair as a name": r'{"\ud800": 1}',
    "NUL as a name": r'{"\u0000": 1}',
    "5,000 digits": "9" * 5_000,
    "5,000 digits in a text": '"' + "9" * 5_000 + '"',
    "too large for a float": "1e999",
    "too large for a float, within": '{"a": [1e999]}',
    "no number": "NaN",
    "no end": "-Infinity",
    "beyond 64 bits": "18446744073709551616",
    "beyond a float's whole numbers": "9007199254740993.5e290",
    "too deep": "[" * DEEP + "]" * DEEP,
    "too deep, objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "an empty name": '{"": ""}',
    "null": "null",
    "a truth": "true",
    "a list": "[[], {}, null]",
}
"""As they stand for a value in a JSON text."""

IN_YAML: dict[str, str] = {
    "hexadecimal": "0x" + "f" * 20_000,
    "sexagesimal": ":".join(["59"] * 5_000),
    "decimal": "9" * 5_000,
    "octal": "0o" + "7" * 5_000,
    "binary": "0b" + "1" * 5_000,
    "underscores": "1" + "_0" * 5_000,
    "too large for a float": "1e999",
    "no number": ".nan",
    "no end": "-.inf",
    "NUL": r'"\0"',
    "half a surrogate pair": r'"\ud800"',
    "too deep": "[" * DEEP,
    "aliases": "\n".join(
        [
            "",
            "  a: &a [x, x]",
            *(f"  b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}, *a]" for n in range(40)),
        ]
    ),
    "a date that is none": "2026-99-99",
    "a tag": "!!python/object/apply:os.system [id]",
}
"""As they stand for a value in a YAML text."""
