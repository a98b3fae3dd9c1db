"""A port that nobody listens on, and a tiny real model.

The model is a Llama of a few thousand random weights with a tokenizer of bytes and a chat template:
it says nonsense, but always the same for the same seed.
"""

import socket
from pathlib import Path
from typing import Any

import pytest

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def write_tiny_llama(folder: Path, *, context: int = 256, template: bool = True) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    vocabulary = {token: n for n, token in enumerate(special + alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast: Any = PreTrainedTokenizerFast  # unannotated
    wrapped = fast(
        tokenizer_object=tokenizer, eos_token="</s>", additional_special_tokens=special[1:]
    )
    wrapped.chat_template = TEMPLATE if template else None
    wrapped.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=context,
        bos_token_id=None,
        eos_token_id=0,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(1)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("tiny-llama"))
