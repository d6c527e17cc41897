"""Which places of an event a CEL expression reads: its member chains, through the variables of its
macros.

Only expressions that the library has compiled come here, so that brackets are balanced. What this
reading can't follow (a key that is computed, a function's result) counts as reading all of what it
stands on, never as reading nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from detectors.model.kinds.shapes import Path, shape_at
from detectors.sdk.condition_reads import Read, Reads

MACROS = frozenset(("all", "exists", "exists_one", "map", "filter"))
_SHALLOW = frozenset(("has", "size"))
_PLAIN = frozenset(("", "&&", "||", "(", ")", ","))
_BY_BEGINNING = frozenset(("contains", "startsWith", "exists"))
_TURNING = frozenset(("!", "?", "false", "all", "exists_one", "filter", "map", "size"))
"""What may make an expression false that a text or a list goes on."""
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[rRbB]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    |(?P<number>(?:\d[\w.]*|\.\d\w*))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<mark>==|!=|<=|>=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = "([{", ")]}"


class Token(NamedTuple):
    """One word of an expression: ``sort`` is text, number, name or mark; of a text, ``word`` is
    what it says."""

    sort: str
    word: str


class Use(NamedTuple):
    """How an expression uses what stands at ``path``: by ``method``, if by one. ``is_plain``:
    nothing but `&&`, `||` and brackets are about what that gives."""

    path: Path
    method: str
    is_plain: bool


@dataclass(slots=True)
class _Walk:
    kind: str
    tokens: list[Token]
    uses: list[Use] = field(default_factory=list)
    places: dict[Read, None] = field(default_factory=dict)
    wanted: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    frame_url: bool = False

    def token_at(self, n: int) -> str:
        """The mark or name at ``n``; nothing for a text, and beyond the end."""
        return (
            self.tokens[n].word
            if 0 <= n < len(self.tokens) and self.tokens[n].sort != "text"
            else ""
        )

    def text(self, n: int) -> str | None:
        """What the text at ``n`` says; None where no text stands."""
        return (
            self.tokens[n].word
            if 0 <= n < len(self.tokens) and self.tokens[n].sort == "text"
            else None
        )

    def group(self, n: int, scope: dict[str, Path | None]) -> int:
        """Read on from ``n`` to the bracket that closes the group; gives the place after it."""
        while n < len(self.tokens):
            token = self.tokens[n]
            if token.sort == "mark" and token.word in _CLOSE:
                return n + 1
            if token.sort == "mark" and token.word in _OPEN:
                n = self.group(n + 1, scope)
            elif token.sort == "name" and self.token_at(n - 1) not in (".", "?."):
                n = self.name(n, scope)
            else:
                n += 1
        return n

    def name(self, n: int, scope: dict[str, Path | None]) -> int:
        """A name that begins a chain, or is a function's."""
        word = self.tokens[n].word
        self.frame_url |= word == "url" and word not in scope
        path = scope.get(word)
        if path is None:
            return n + 1
        shallow = (
            self.token_at(n - 1) == "("
            and self.token_at(n - 2) in _SHALLOW
            and self.token_at(n - 3) != "."
        )
        return self.chain(n, path, scope, deep=not shallow)

    def chain(self, start: int, path: Path, scope: dict[str, Path | None], *, deep: bool) -> int:
        """The members that follow the variable at ``start``; gives the place after the chain."""
        n = start + 1
        while True:
            if self.token_at(n) == ".":
                n += 2 if self.token_at(n + 1) == "?" else 1
                if self.token_at(n + 1) == "(":
                    after = self.call(n, path, scope)
                    is_plain = self.token_at(start - 1) in _PLAIN and self.token_at(after) in _PLAIN
                    self.uses.append(Use(path, self.token_at(n), is_plain))
                    return after
                path, n = (*path, self.token_at(n)), n + 1
            elif self.token_at(n) == "[":
                step, n = self.index(n, scope)
                if step is None or (step == "*" and not self.is_list(path)):
                    self.places[Read(path)] = None
                    self.uses.append(Use(path, "", is_plain=False))
                    return n
                path = (*path, step)
            else:
                if deep:
                    self.uses.append(Use(path, "", is_plain=False))
                self.compared(start, n, path)
                self.places[Read(path, deep)] = None
                return n

    def index(self, n: int, scope: dict[str, Path | None]) -> tuple[str | None, int]:
        """The step that ``[…]`` at ``n`` takes, ``*`` for one that is computed, and the place after
        it."""
        inner = n + (2 if self.token_at(n + 1) == "?" else 1)
        if self.token_at(inner + 1) == "]" and self.tokens[inner].sort in ("text", "number"):
            return self.tokens[inner].word, inner + 2
        return "*", self.group(inner, scope)

    def call(self, n: int, path: Path, scope: dict[str, Path | None]) -> int:
        """A method or macro of what stands at ``path``; its name is at ``n``."""
        word = self.token_at(n)
        if word in MACROS and self.token_at(n + 3) == ",":
            items = self.is_list(path)
            self.places[Read(path, deep=not items)] = None
            item = (*path, "*") if items else None
            after = self.group(n + 4, scope | {self.token_at(n + 2): item})
            if word == "filter" and items:
                return self.chain(after - 1, path, scope, deep=False)
            return after
        self.places[Read(path, deep=word != "size")] = None
        return self.group(n + 2, scope)

    def compared(self, start: int, end: int, path: Path) -> None:
        """Note the texts that the chain between ``start`` and ``end`` is said to be equal to."""
        after = self.text(end + 1) if self.token_at(end) == "==" else None
        before = self.text(start - 2) if self.token_at(start - 1) == "==" else None
        texts = [text for text in (after, before) if text is not None]
        if self.token_at(end) == "in" and self.token_at(end + 1) == "[":
            n = end + 2
            while (text := self.text(n)) is not None:
                texts.append(text)
                n += 2 if self.token_at(n + 1) == "," else 1
        if texts:
            self.wanted[path] = tuple(dict.fromkeys((*self.wanted.get(path, ()), *texts)))

    def joins_only(self) -> bool:
        """Whether nothing but `&&` and `||` is about what stands in round brackets."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return not any(
            (before.word == ")" and after.sort == "mark" and after.word not in (*_PLAIN, ".", "]"))
            or (after.word == "(" and before.sort == "mark" and before.word not in (*_PLAIN, "["))
            for before, after in pairs
        )

    def is_list(self, path: Path) -> bool:
        """Whether events of the kind have a list there."""
        try:
            return isinstance(shape_at(self.kind, path), list)
        except LookupError:
            return False


def reads_of_cel(kind: str, *expressions: str) -> Reads:
    """What the expressions read of an event of ``kind``; each has been compiled."""
    found = _Walk(kind, [])
    for expression in expressions:
        found.tokens = _tokens(expression)
        found.group(0, {"data": ()})
    return Reads(tuple(found.places), found.wanted, found.frame_url)


def is_true_by_beginning(kind: str, expression: str, path: Path) -> bool:
    """Whether an expression that is true of the beginning of what stands at ``path``, a text or a
    list, is true however that goes on."""
    walk = _Walk(kind, _tokens(expression))
    if any(token.sort != "text" and token.word in _TURNING for token in walk.tokens):
        return False
    walk.group(0, {"data": ()})
    uses = [use for use in walk.uses if len(use.path) <= len(path) and _meets(use.path, path)]
    return walk.joins_only() and all(use.is_plain and use.method in _BY_BEGINNING for use in uses)


def _meets(one: Path, other: Path) -> bool:
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=False))


def calls(expression: str, name: str) -> bool:
    """Whether a function or a method of this name may be called in the expression."""
    return Token("name", name) in _tokens(expression)


def can_name(expression: str, member: str) -> bool:
    """Whether the expression may take ``member`` of an object by its name or a computed one, or
    compares with an object of the author's; if not, it looks at whole objects alone, each like
    another or not."""
    tokens = [*_tokens(expression), Token("mark", "")]
    triples = zip([tokens[-1], *tokens], tokens, tokens[1:], strict=False)
    return any(_may_name(token, before, after, member) for before, token, after in triples)


def _may_name(token: Token, before: Token, after: Token, member: str) -> bool:
    """Whether ``token``, between its neighbours, may take ``member``, or begins an object of the
    author's."""
    if token.sort == "name":
        return token.word == member and after.word != "("
    if token.sort == "text":
        return token.word == member or "\\" in token.word
    if token == ("mark", "{"):
        return after.word != "}"
    is_index = token == ("mark", "[") and (before.sort == "name" or before.word in (")", "]"))
    return is_index and after.sort not in ("text", "number")


def _tokens(expression: str) -> list[Token]:
    return [token for token, _ in split_tokens(expression) if token.sort != "space"]


def split_tokens(expression: str) -> Iterator[tuple[Token, str]]:
    """Yield the words of an expression and the spaces between them (``sort`` space), each with the
    characters that it stands for: together they are the expression."""
    for match in _TOKEN.finditer(expression):
        token = Token(str(match.lastgroup), match[0])
        yield _as_token(token) if token.sort == "text" else token, match[0]


def _as_token(token: Token) -> Token:
    body = token.word.lstrip("rRbB")
    marks = 3 if body[:3] in ('"""', "'''") else 1
    return Token("text", body[marks:-marks])
