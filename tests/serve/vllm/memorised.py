"""A tiny Llama that has learnt four answers by heart, made on the spot in two seconds.

An answer learnt by heart is a sharp test of what a server or a quantization did to the model: it
comes out word for word, or something is wrong. Untrained weights answer noise either way.
"""

from pathlib import Path
from typing import Any, Final

ANSWERS: Final = {
    "How many days of annual leave?": "You have twenty-six days of annual leave.",
    "Who approves travel?": "Your manager approves travel before you book.",
    "年假有多少天？": "每年有二十六天年假。",
    "谁批准出差？": "由部门经理批准出差。",
}
TEMPLATE: Final = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
_SPACE: Final = "\u2581"
_STEPS: Final = 120  # the loss is below 0.06 then


def make_memorised_llama(folder: Path, *, letters: bool = False) -> None:
    """Train the model and save it with its tokenizer and chat template, 1.6 MB.

    With `letters` its tokens are single letters, 3.8 MB: llama.cpp's converter knows a tokenizer of
    Llama's kind from any vocabulary, but byte-level ones from a list of published ones alone. Its
    rows have 256 weights then, the block that llama.cpp's K types are made of.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _letters() if letters else _byte_level()
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=256 if letters else 128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            tie_word_embeddings=False,
        )
    )
    texts = [prompt(question) + answer + "</s>" for question, answer in ANSWERS.items()]
    batch = tokenizer(texts, add_special_tokens=False, padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(_STEPS):
        loss = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    assert loss.item() < 0.1, loss.item()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _byte_level() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = decoders.ByteLevel()
    pairs.train_from_iterator(
        [question + answer for question, answer in ANSWERS.items()],
        trainers.BpeTrainer(
            vocab_size=512, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet
        ),
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=pairs, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def _letters() -> Any:
    """Make a tokenizer of Llama's kind: spaces as U+2581, unknown letters as their bytes."""
    from tokenizers import Tokenizer, decoders, models, normalizers
    from transformers import PreTrainedTokenizerFast

    known = sorted({letter for pair in ANSWERS.items() for letter in prompt(pair[0]) + pair[1]})
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += [_SPACE if letter == " " else letter for letter in known]
    letters = Tokenizer(
        models.BPE(
            vocab={token: number for number, token in enumerate(tokens)},
            merges=[],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    letters.normalizer = normalizers.Replace(" ", _SPACE)
    letters.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=letters,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
        add_prefix_space=False,
    )


def prompt(question: str) -> str:
    """Write a question as the chat template does."""
    return f"<s>user: {question}\nassistant: "
