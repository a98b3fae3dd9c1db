"""A Llama of about four million untrained weights, made on the spot in some seconds.

What it writes is noise, but what it costs to write is not: servers are compared on it.
"""

import re
from pathlib import Path

from ragkit_serve.model.bench.workload import Shape, make_prompts

CONTEXT_TOKENS = 4096
_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tiny_llama(folder: Path) -> int:
    """Save the model with a tokenizer trained on prompts like the benchmark's; return its size."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from ragkit.embed.precision import torch_dtype

    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    prompts = make_prompts(Shape(requests=64, seed=1))
    letters.train_from_iterator(
        (message.content for prompt in prompts for message in prompt.messages),
        trainers.BpeTrainer(
            vocab_size=4096,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=letters, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = _TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=256,
            intermediate_size=768,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT_TOKENS,
            bos_token_id=0,
            eos_token_id=1,
            tie_word_embeddings=False,
        )
    ).to(torch_dtype("cpu"))
    # Half a character and a special token are no text, and a stream shows nothing for them: only
    # tokens of plain letters may win, so that each token can be seen to arrive.
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    other = [n for n, token in enumerate(tokens) if not re.fullmatch(r"Ġ?[a-z]+", token)]
    with torch.no_grad():
        model.lm_head.weight[other] = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(weights.numel() for weights in model.parameters())
