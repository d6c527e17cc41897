"""Card numbers in running text: 13 to 19 digits, an issuer's prefix and length, and a right check
digit.

One in ten numbers passes the check digit alone, so the issuer is asked too: a timestamp, an order
number, a bar code or an IBAN stays as it is.
"""

from __future__ import annotations

import re

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
    """Return ``text`` with every card number replaced by ``mask``."""
    if len(text) < MIN_DIGITS or _ENOUGH.search(text) is None:
        return text
    ibans = [match.span() for match in _IBAN.finditer(text) if is_iban(match[0])]
    pieces: list[str] = []
    done = 0
    for run in _RUN.finditer(text):
        if any(start < run.end() and run.start() < end for start, end in ibans):
            continue
        for start, end in _find_cards(run):
            pieces += (text[done:start], mask)
            done = end
    return "".join(pieces) + text[done:]


def _find_cards(run: re.Match[str]) -> list[tuple[int, int]]:
    """Return start and end of each card in a run of groups of digits.

    A date and a security code may follow a number, so the longest card is looked for from each
    group on.
    """
    matches = list(_DIGITS.finditer(run[0]))
    groups = [match[0] for match in matches]
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(groups):
        end = _card_end(groups, first)
        if end is None:
            first += 1
        else:
            spans.append(
                (run.start() + matches[first].start(), run.start() + matches[end - 1].end())
            )
            first = end
    return spans


def _card_end(groups: list[str], first: int) -> int | None:
    """Return behind which group the longest card ends that begins with group ``first``."""
    furthest = min(len(groups), first + _MAX_GROUPS)
    for end in range(furthest, first, -1):
        if _is_written_card(groups[first:end]):
            return end
    return None


def _is_written_card(groups: list[str]) -> bool:
    """Return whether the groups are a card as people write it.

    That is: whole, or in groups of three to eight digits of which the last may be shorter.
    """
    number = "".join(groups)
    if not MIN_DIGITS <= len(number) <= MAX_DIGITS:
        return False
    *before, last = map(len, groups)
    if before and (last > _MAX_GROUP_LENGTH or min(before) < 3 or max(before) > _MAX_GROUP_LENGTH):
        return False
    return is_card(number)


def is_card(digits: str) -> bool:
    """Return whether ``digits`` are a card number: by issuer, length and check digit."""
    if not _has_issuer(digits) or not _passes_luhn(digits):
        return False
    return len(digits) != 13 or not _is_bar_code(digits)


def _has_issuer(digits: str) -> bool:
    """Whether a number begins as those of an issuer of cards do, and is as long."""
    return any(
        len(digits) in lengths and low <= int(digits[: len(str(low))]) <= high
        for low, high, lengths in _ISSUERS
    )


def _passes_luhn(digits: str) -> bool:
    """Return whether the last digit is right by Luhn's formula (ISO/IEC 7812-1)."""
    total = sum(map(int, digits[-1::-2]))
    for digit in map(int, digits[-2::-2]):
        total += 2 * digit - 9 if digit > 4 else 2 * digit
    return total % 10 == 0


def _is_bar_code(digits: str) -> bool:
    """Return whether the last digit is right as in an EAN-13."""
    return (sum(map(int, digits[-1::-2])) + 3 * sum(map(int, digits[-2::-2]))) % 10 == 0


def is_iban(text: str) -> bool:
    """Return whether ``text`` is an account number (IBAN), by its check digits (ISO 13616)."""
    plain = re.sub("[ -]", "", text)
    if not 15 <= len(plain) <= 34:
        return False
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1
