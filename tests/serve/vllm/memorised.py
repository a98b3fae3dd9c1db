"""A tiny Llama that has learnt four answers by heart, made on the spot in two seconds.

An answer learnt by heart is a sharp test of what a server or a quantization did to the model: it
comes out word for word, or something is wrong. Untrained weights answer noise either way.
"""

from pathlib import Path
from typing import Final

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
_STEPS: Final = 120  # the loss is below 0.06 then


def make_memorised_llama(folder: Path) -> None:
    """Train the model and save it with its tokenizer and chat template, 1.6 MB."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    letters.train_from_iterator(
        [question + answer for question, answer in ANSWERS.items()],
        trainers.BpeTrainer(
            vocab_size=512, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet
        ),
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=letters, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            bos_token_id=0,
            eos_token_id=1,
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


def prompt(question: str) -> str:
    """Write a question as the chat template does."""
    return f"<s>user: {question}\nassistant: "
