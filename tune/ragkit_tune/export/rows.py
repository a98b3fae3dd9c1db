"""Rows in the forms that other trainers read: pure functions from ragkit's rows.

- sentence-transformers: columns anchor, positive, negative, in this order; the names do not count
  (https://sbert.net/docs/sentence_transformer/training_overview.html#dataset-format).
- FlagEmbedding: query, pos, neg, and scores of a teacher; a row without negatives needs drawn ones
  (https://github.com/FlagOpen/FlagEmbedding/tree/master/examples/finetune/embedder).
- axolotl: messages of which those with "train" are trained on, or messages, chosen and rejected
  (https://docs.axolotl.ai/docs/dataset-formats/conversation.html, .../docs/rlhf.html).
- LLaMA-Factory: sharegpt with chosen and rejected, or with a label for KTO
  (https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md).
- unsloth: what TRL reads: prompt and completion, of which only the completion is trained on
  (https://huggingface.co/docs/trl/dataset_formats).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from ragkit_tune.data.data_set import PairRow
from ragkit_tune.data.questions import drawn

Row = dict[str, Any]
Message = Mapping[str, str]

NEGATIVES: Final = 7  # drawn for a row without any: FlagEmbedding's examples have groups of 8


def triplets(rows: Iterable[PairRow]) -> Iterator[Row]:
    """Yield a row for each negative: the trainer needs as many columns in every row."""
    for row in rows:
        for negative in row.negatives:
            yield {"anchor": row.query, "positive": row.positive, "negative": negative}


def pairs(rows: Iterable[PairRow]) -> Iterator[Row]:
    """Yield the rows that have no negatives."""
    for row in rows:
        if not row.negatives:
            yield {"anchor": row.query, "positive": row.positive}


def flag_rows(rows: Sequence[PairRow], seed: int) -> Iterator[Row]:
    """Yield FlagEmbedding's rows; a row without negatives gets positives of other groups.

    A passage that answers the same query elsewhere is never drawn.
    """
    answers: dict[str, set[str]] = {}
    for row in rows:
        answers.setdefault(row.query, set()).add(row.positive)
    passages = {row.positive: row for row in sorted(rows, key=lambda row: drawn(seed, row.id))}
    drawable = list(passages.items())
    for number, row in enumerate(rows):
        values: Row = {"query": row.query, "pos": [row.positive], "neg": list(row.negatives)}
        if row.scores:
            values |= {"pos_scores": [row.scores[0]], "neg_scores": list(row.scores[1:])}
        if not row.negatives:
            place = number % len(drawable)
            fitting = (
                text
                for text, other in (*drawable[place:], *drawable[:place])
                if other.document != row.document
                and (other.group != row.group or not row.group)
                and text not in answers[row.query]
            )
            values["neg"] = list(islice(fitting, NEGATIVES))
        if values["neg"]:
            yield values


def axolotl_chat(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield messages of which only the last, the assistant's, is trained on."""
    for row in rows:
        messages = row["messages"]
        marked = [
            {**_plain(message), "train": number == len(messages) - 1}
            for number, message in enumerate(messages)
        ]
        yield {"messages": marked}


def sharegpt_chat(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield messages; `mask_history` of the configuration leaves the last alone trained on."""
    for row in rows:
        yield {"messages": [_plain(message) for message in row["messages"]]}


def trl_chat(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield prompt and completion, each as messages."""
    for row in rows:
        messages = [_plain(message) for message in row["messages"]]
        yield {"prompt": messages[:-1], "completion": messages[-1:]}


def ranked(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield preferences with messages, for axolotl and LLaMA-Factory."""
    for row in rows:
        yield {
            "messages": [_plain(message) for message in row["prompt"]],
            "chosen": _answer(row["chosen"]),
            "rejected": _answer(row["rejected"]),
        }


def trl_ranked(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield preferences whose answers are lists of messages."""
    for row in rows:
        yield {
            "prompt": [_plain(message) for message in row["prompt"]],
            "chosen": [_answer(row["chosen"])],
            "rejected": [_answer(row["rejected"])],
        }


def sharegpt_labelled(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield messages that end with an answer, and whether it is good."""
    for row in rows:
        messages = [_plain(message) for message in row["prompt"]]
        yield {"messages": [*messages, _answer(row["completion"])], "label": row["label"]}


def trl_labelled(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield prompt, completion and label."""
    for row in rows:
        yield {
            "prompt": [_plain(message) for message in row["prompt"]],
            "completion": [_answer(row["completion"])],
            "label": row["label"],
        }


def _plain(message: Message) -> dict[str, str]:
    return {"role": message["role"], "content": message["content"]}


def _answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}
