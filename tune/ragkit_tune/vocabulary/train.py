"""Train a vocabulary on one's own texts: byte-level BPE or Unigram, as a tokenizer's files.

A model trained from nothing takes it; a trained model has rows for its own tokens only, and is
extended instead (`ragkit_tune.vocabulary.extend`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from ragkit.errors import UsageError
from ragkit_tune.model_files.folder import new_folder, write_json
from ragkit_tune.vocabulary.tokenizer_file import TOKENIZER, TOKENIZER_CONFIG

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Model = Literal["bpe", "unigram"]
MODELS: Final[tuple[Model, ...]] = get_args(Model)
# XLM-RoBERTa's, in its order (arXiv:1911.02116); the padding token's number is 1.
SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_MIN_SIZE: Final = 300  # 256 bytes, the special tokens and some
_MAX_SIZE: Final = 1_000_000  # arbitrary: four times the largest in use


def train_tokenizer(texts: Sequence[str], size: int, model: Model) -> Tokenizer:
    """Train a vocabulary of at most `size` tokens. Raises UsageError.

    Few texts give fewer tokens than asked for.
    """
    if not _MIN_SIZE <= size <= _MAX_SIZE:
        raise UsageError(f"--size {size} is not between {_MIN_SIZE} and {_MAX_SIZE:,}: change it")
    tokenizer, trainer = _bpe(size) if model == "bpe" else _unigram(size)
    try:
        tokenizer.train_from_iterator(texts, trainer)
    except Exception as error:  # the library raises nothing more precise
        raise UsageError(
            f"no vocabulary of {size} tokens can be made of {len(texts)} texts ({error}): name"
            " more texts or a smaller --size"
        ) from error
    tokenizer.post_processor = _frame(tokenizer)
    return tokenizer


def write_tokenizer(tokenizer: Tokenizer, out: Path) -> None:
    """Write the tokenizer's files to `out`, which must not exist. Raises UsageError, ModelError."""
    import json

    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    with new_folder(out, 0) as folder:
        write_json(folder / TOKENIZER, json.loads(tokenizer.to_str()))
        write_json(folder / TOKENIZER_CONFIG, settings)


def _bpe(size: int) -> tuple[Tokenizer, Any]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def _unigram(size: int) -> tuple[Tokenizer, Any]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        unk_token=SPECIAL[3],
        show_progress=False,
    )


def _frame(tokenizer: Tokenizer) -> Any:
    from tokenizers import processors

    numbers = [(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    return processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=numbers
    )
