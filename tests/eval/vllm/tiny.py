"""A tiny Llama that answers MMLU's prompts with letters, made on the spot in seconds.

It knows nothing; it has only learnt that a letter follows "Answer:". Its letters differ from
question to question, which is all that comparing two programs on one server needs.
"""

import csv
from pathlib import Path
from typing import Any

_STEPS, _TOKENS = 80, 192
_VOCABULARY = 1500


def make_answering_llama(folder: Path, dev: Path) -> None:
    """Train it on MMLU's example questions and save it with its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    texts = [text for file in sorted(dev.glob("*_dev.csv")) for text in _questions(file)]
    tokenizer = _tokenizer(texts)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            bos_token_id=0,
            eos_token_id=1,
            tie_word_embeddings=False,
        )
    )
    tokenizer.truncation_side = "left"
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(_STEPS):
        some = [texts[(8 * step + n) % len(texts)] for n in range(8)]
        batch = tokenizer(
            some, padding=True, truncation=True, max_length=_TOKENS, return_tensors="pt"
        )
        ids, mask = batch["input_ids"], batch["attention_mask"]
        labels = ids.masked_fill(mask == 0, -100)
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _questions(file: Path) -> list[str]:
    """Write a subject's example questions as the prompts do, each with its answer."""
    with file.open(encoding="utf-8", newline="") as rows:
        found = []
        for question, *options, answer in csv.reader(rows):
            if question == "question" and answer == "answer":  # the header of some copies
                continue
            letter = answer if answer in "ABCD" else "ABCD"[int(answer)]
            told = "".join(f"\n{one}. {option}" for one, option in zip("ABCD", options, strict=True))
            found.append(f"{question}{told}\nAnswer: {letter}\n\n")
        return found


def _tokenizer(texts: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    letters.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=_VOCABULARY,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=letters, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
