"""A tiny Llama that answers MMLU's prompts with letters, made on the spot in seconds.

It knows nothing: its weights are random but for its output rows of " A" to " D", which read four
directions in which its state differs most from one subject's prompt to another's. So letters come
first, and differ, which is all that comparing two programs on one server needs.
"""

import csv
from pathlib import Path
from typing import Any

_VOCABULARY = 1500
_LETTER, _SPREAD = 30.0, 1.5  # how far letters stand out on average, and from prompt to prompt


def make_answering_llama(folder: Path, dev: Path) -> None:
    """Make it for some of MMLU's example questions in `dev`; save it with its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    prompts = [_prompt(file) for file in sorted(dev.glob("*_dev.csv"))[::3]]
    tokenizer = _tokenizer(prompts)
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
            initializer_range=0.2,
            bos_token_id=0,
            eos_token_id=1,
            tie_word_embeddings=False,
        )
    )
    letters = [tokenizer.encode(f" {one}", add_special_tokens=False) for one in "ABCD"]
    assert all(len(ids) == 1 for ids in letters), letters
    with torch.no_grad():
        states = torch.stack(
            [
                model.model(tokenizer(prompt, return_tensors="pt").input_ids).last_hidden_state[
                    0, -1
                ]
                for prompt in prompts
            ]
        )
        mean = states.mean(0)
        _, sizes, directions = torch.linalg.svd(states - mean, full_matrices=False)
        for n, (token,) in enumerate(letters):
            across = directions[n] - (directions[n] @ mean) / (mean @ mean) * mean
            spread = _SPREAD * len(prompts) ** 0.5 / sizes[n]
            model.lm_head.weight[token] = _LETTER / (mean @ mean) * mean + spread * across
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _prompt(file: Path) -> str:
    """Write a subject's example questions as prompts do, the last without its answer."""
    with file.open(encoding="utf-8", newline="") as rows:
        text = ""
        for question, *options, answer in csv.reader(rows):
            if (question, answer) == ("question", "answer"):  # the header of some copies
                continue
            letter = answer if answer in "ABCD" else "ABCD"[int(answer)]
            told = "".join(
                f"\n{one}. {option}" for one, option in zip("ABCD", options, strict=True)
            )
            text += f"{question}{told}\nAnswer: {letter}\n\n"
    return text.rpartition(" ")[0]


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
