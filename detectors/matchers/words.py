"""Numbers in English words."""

from __future__ import annotations

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: n for n, word in enumerate(_SMALL)} | {
    word: 10 * n for n, word in enumerate(_TENS, 2)
}
_SCALES = {"thousand": 1_000, "million": 1_000_000}


def number_in_words(text: str) -> int:
    """``twenty three`` is 23. Raises `ValueError` for what is not words of one number alone."""
    words = [word for word in text.replace("-", " ").split() if word != "and"]
    total = part = 0
    if not words or len(words) > 20:
        raise ValueError("a number")
    for word in words:
        if word in _VALUES:
            part += _VALUES[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            raise ValueError("a number")
    return total + part
