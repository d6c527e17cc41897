"""One step of an optimiser on the CPU, by a trainer's own policy loss: what it makes likelier, and
whether the weights move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.trainers.harness.words import model, tokenizer

PolicyLoss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""The trainer's loss from the log-probabilities of tokens and those before the step, both (rollouts,
length - 1)."""


def take_step(
    sequences: torch.Tensor, attention_mask: torch.Tensor, loss_of: PolicyLoss
) -> dict[str, Any]:
    """Take one step of gradient descent on a small random model.

    ``sequences`` and ``attention_mask``: (rollouts, length). Returns ``pull``: -dL/dlog p of each
    token but the first of a sequence, (rollouts, length - 1), positive where the step makes it
    likelier; ``moved``: whether any weight is another afterwards.
    """
    policy = model(len(tokenizer()))
    before = [weights.detach().clone() for weights in policy.parameters()]
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    logits = policy(input_ids=sequences, attention_mask=attention_mask.long()).logits[:, :-1]
    next_tokens = sequences[:, 1:].unsqueeze(-1)
    log_probs = logits.log_softmax(-1).gather(-1, next_tokens).squeeze(-1)
    log_probs.retain_grad()
    loss_of(log_probs, log_probs.detach()).backward()
    optimizer.step()
    assert log_probs.grad is not None
    after = policy.parameters()
    moved = any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    return {"pull": (-log_probs.grad).tolist(), "moved": moved}
