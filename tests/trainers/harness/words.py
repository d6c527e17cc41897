"""A tokenizer and a language model of a few kilobytes, made in code: what trainers that sample
need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, set_seed

END, START = "<|im_end|>", "<|im_start|>"
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] +"
    " '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%"
    " endif %}"
)


def tokenizer(template: str = TEMPLATE) -> Any:
    """A byte a token."""
    letters = {
        letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    found = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token="<|pad|>")
    found.add_special_tokens({"additional_special_tokens": [START]})
    found.chat_template = template
    return found


def save_tokenizer(folder: Path) -> str:
    """The tokenizer as files, for trainers that take a path."""
    tokenizer().save_pretrained(folder)
    return str(folder)


def model(size: int) -> Any:
    """One layer, random."""
    set_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return Qwen3ForCausalLM(
        Qwen3Config(vocab_size=size, max_position_embeddings=8192, **shape, **heads)
    )
