"""What the model reads and writes: a tokenizer whose tokens are whole words, and the transcript of
an episode. In `.venv-trl`.

    <task> check Red , press Save <page> checkbox Red button Save <act> click Red <end> <page> …
"""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from examples.agent.families import POOLS

PAD, UNKNOWN, END = "<pad>", "<unknown>", "<end>"
TASK, PAGE, ACT = "<task>", "<page>", "<act>"
VERBS = ("click", "type", "done", "fill", "with", "check", "open", "press", ",", "=", "checked")
ROLES = ("textbox", "checkbox", "button", "link")
MAX_WORDS = 4
"""The longest action: `type City Oslo <end>`."""


def tokenizer() -> Any:
    """Return the tokenizer: a word a token, words by white space."""
    names = (name for pool in POOLS for name in pool)
    words = (PAD, UNKNOWN, END, TASK, PAGE, ACT, *VERBS, *ROLES, *names)
    vocabulary = {word: at for at, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, unk_token=UNKNOWN
    )


def model(words: Any, seed: int, *, width: int = 128, layers: int = 4) -> Any:
    """Return a Llama of 0.9 million weights (at 128 and 4), drawn from ``seed``."""
    set_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=width,
            intermediate_size=3 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            pad_token_id=words.pad_token_id,
            bos_token_id=None,
            eos_token_id=words.eos_token_id,
        )
    )


def begin(instruction: str, page: str) -> str:
    """Return what the model is asked first."""
    return f"{TASK} {instruction} {then(page)}"


def then(page: str) -> str:
    """Return what the model is told after an action."""
    return f"{PAGE} {page} {ACT}"
