"""Card numbers in running text: 13 to 19 digits, an issuer's prefix and length, and a right check
digit.

One in ten numbers passes the check digit alone, so the issuer is asked too: a timestamp, an order
number, a bar code or an IBAN stays as it is.
"""

from __future__ import annotations

import re
from itertools import accumulate

MIN_DIGITS, MAX_DIGITS = 13, 19

_ISSUERS: tuple[tuple[int, int, range], ...] = (
    # first and last prefix, lengths
    (4, 4, range(13, 20, 3)),  # Visa: 13, 16, 19
    (51, 55, range(16, 17)),  # Mastercard
    (2221, 2720, range(16, 17)),
    (34, 34, range(15, 16)),  # American Express
    (37, 37, range(15, 16)),
    (300, 305, range(14, 20)),  # Diners
    (3095, 3095, range(14, 20)),
    (36, 36, range(14, 20)),
    (38, 39, range(14, 20)),
    (3528, 3589, range(16, 20)),  # JCB
    (6011, 6011, range(16, 20)),  # Discover
    (644, 659, range(16, 20)),
    (62, 62, range(16, 20)),  # UnionPay
    (81, 82, range(16, 20)),  # UnionPay, RuPay
    (2200, 2204, range(16, 20)),  # Mir
    (50, 50, range(13, 20)),  # Maestro
    (56, 58, range(13, 20)),
    (6304, 6304, range(13, 20)),
    (6390, 6390, range(13, 20)),
    (6759, 6763, range(13, 20)),
    (6069, 6089, range(16, 17)),  # RuPay, Hipercard
)

# Groups of digits with one kind of gap between them; no part of a word, a decimal, a telephone
# number.
_RUN = re.compile(
    r"(?<![\w+.])[0-9]{3,19}(?:(["
    r" \u00a0\u2009\u202f-])[0-9]{1,19}(?:\1[0-9]{1,19})*)?(?![\w]|[.][0-9])"
)
_DIGITS = re.compile("[0-9]+")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,8}(?!\w)")
_MAX_GROUP_LENGTH, _MAX_GROUPS = 8, 7
_ENOUGH = re.compile(r"[0-9](?:[ \u00a0\u2009\u202f-]?[0-9]){12}")


def mask_cards(text: str, mask: str) -> str:
    """``text`` with every card number replaced by ``mask``."""
    if len(text) < MIN_DIGITS or _ENOUGH.search(text) is None:
        return text
    ibans = [found.span() for found in _IBAN.finditer(text) if is_iban(found[0])]
    pieces, done = [], 0
    for run in _RUN.finditer(text):
        if any(start < run.end() and run.start() < end for start, end in ibans):
            continue
        for start, end in _cards(run):
            pieces += [text[done:start], mask]
            done = end
    return "".join(pieces) + text[done:]


def _cards(run: re.Match[str]) -> list[tuple[int, int]]:
    """Where cards stand in one run of groups: a date and a security code may follow the number."""
    groups = [(run.start() + one.start(), one[0]) for one in _DIGITS.finditer(run[0])]
    ends = list(accumulate((len(digits) for _, digits in groups), initial=0))
    digits = "".join(group for _, group in groups)
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(groups):
        furthest = min(len(groups), first + _MAX_GROUPS)
        ways = (
            n
            for n in range(furthest, first, -1)
            if _is(digits[ends[first] : ends[n]], groups[first:n])
        )
        last = next(ways, 0)
        if last:
            found.append((groups[first][0], groups[last - 1][0] + len(groups[last - 1][1])))
        first = last or first + 1
    return found


def _is(number: str, groups: list[tuple[int, str]]) -> bool:
    if not MIN_DIGITS <= len(number) <= MAX_DIGITS:
        return False
    # As people write it: whole, or in groups of three to eight of which the last may be shorter.
    written = len(groups) == 1 or (
        all(3 <= len(group) <= _MAX_GROUP_LENGTH for _, group in groups[:-1])
        and len(groups[-1][1]) <= _MAX_GROUP_LENGTH
    )
    return written and is_card(number)


def is_card(digits: str) -> bool:
    """Whether ``digits`` (nothing but digits) is a card's number, by issuer, length and check
    digit."""
    if not any(
        len(digits) in sizes and low <= int(digits[: len(str(low))]) <= high
        for low, high, sizes in _ISSUERS
    ):
        return False
    return _luhn(digits) and not (len(digits) == 13 and _is_bar_code(digits))


def _luhn(digits: str) -> bool:
    doubled = (
        2 * int(digit) if place % 2 else int(digit) for place, digit in enumerate(reversed(digits))
    )
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_bar_code(digits: str) -> bool:
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether ``text`` is an international account number, by its check digits."""
    plain = re.sub("[ -]", "", text)
    turned = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(char, 36)) for char in turned)) % 97 == 1
