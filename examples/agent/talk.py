"""Sampling in several conversations at once, with one cache: what was read before an action is
computed once. In `.venv-trl`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from examples.agent.words import MAX_WORDS


class Talk:
    """Conversations with one model, side by side. Each has what it was told and what it wrote in
    ``ids``, and in ``written`` a 1 for each token that the model wrote."""

    def __init__(self, model: Any, end: int, pad: int, rows: int, temperature: float) -> None:
        self._model, self._end, self._pad, self._temperature = model, end, pad, temperature
        self.ids: list[list[int]] = [[] for _ in range(rows)]
        self.written: list[list[int]] = [[] for _ in range(rows)]
        self.logprobs: list[list[float]] = [[] for _ in range(rows)]
        self._unread: list[list[int]] = [[] for _ in range(rows)]
        self._mask = torch.zeros((rows, 0), dtype=torch.long, device=model.device)
        self._cache: Any = None

    def tell(self, row: int, ids: Sequence[int]) -> None:
        """Add what a conversation is told before its next action."""
        self.ids[row] += ids
        self.written[row] += [0] * len(ids)
        self.logprobs[row] += [0.0] * len(ids)
        self._unread[row] += ids

    def write(self, rows: Sequence[int]) -> list[list[int]]:
        """Sample an action in each of ``rows``; the others wait. Returns its tokens, without the
        end."""
        said: dict[int, list[int]] = {row: [] for row in rows}
        active = list(rows)
        for _ in range(MAX_WORDS):
            with torch.no_grad():
                logits = self._read()
            chosen, logprobs = self._choose(logits)
            for row in active:
                said[row].append(chosen[row])
                self.ids[row].append(chosen[row])
                self.written[row].append(1)
                self.logprobs[row].append(logprobs[row])
                self._unread[row].append(chosen[row])
            active = [row for row in active if said[row][-1] != self._end]
            if not active:
                break
        return [[token for token in said[row] if token != self._end] for row in rows]

    def _read(self) -> Any:
        """Give the model what it has not read yet; rows of different lengths are padded at their
        left, and the padding is masked for ever."""
        width = max(len(unread) for unread in self._unread)
        rows = len(self._unread)
        ids = torch.full((rows, width), self._pad)
        mask = torch.zeros((rows, width), dtype=torch.long)
        for row, unread in enumerate(self._unread):
            if unread:
                ids[row, -len(unread) :] = torch.tensor(unread)
                mask[row, -len(unread) :] = 1
        self._unread = [[] for _ in self._unread]
        mask = mask.to(self._mask.device)
        self._mask = torch.cat([self._mask, mask], dim=1)
        places = (self._mask.cumsum(1) - 1).clamp(min=0)[:, -width:]
        found = self._model(
            input_ids=ids.to(mask.device),
            attention_mask=self._mask,
            position_ids=places,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = found.past_key_values
        return found.logits[:, -1].float()

    def _choose(self, logits: Any) -> tuple[list[int], list[float]]:
        if self._temperature:
            logprobs = torch.log_softmax(logits / self._temperature, dim=-1)
            chosen = torch.multinomial(logprobs.exp(), 1)
        else:
            logprobs = torch.log_softmax(logits, dim=-1)
            chosen = logprobs.argmax(dim=-1, keepdim=True)
        return chosen[:, 0].tolist(), logprobs.gather(1, chosen)[:, 0].tolist()
