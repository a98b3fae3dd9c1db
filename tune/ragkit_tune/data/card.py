"""The card of a data folder: how its rows were made, what was left out, and what they can show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ragkit_tune.data.checks import FAULTS, Row
from ragkit_tune.data.clusters import TEST_CLUSTERS, Clusters
from ragkit_tune.data.data_set import SPLITS
from ragkit_tune.data.questions import HOWS

ENOUGH_QUESTIONS: Final = 100  # of the test; below, the card says what they can show
# Of the differences of nDCG@10 by question between a base and a tuned model: .0144, half of the
# 95% interval, times sqrt(225) / 1.96, measured on Cranfield's 225 questions with MiniLM.
SPREAD: Final = 0.11
# Two-sided at 5% with 80% power: z(.975) + z(.8) = 1.96 + .84 (Sakai 2016, Topic set size design,
# doi:10.1007/s10791-015-9273-z, with one pair of systems).
POWER: Final = 2.8

PRIVATE: Final = (
    "The rows hold text of your documents and users' questions, and a model that was trained on"
    " them can repeat it: treat the model like the documents. Private data that ingestion masked is"
    " masked here too; nothing else is."
)


def detectable(questions: int) -> float:
    """Return about which difference of nDCG@10 so many independent questions can show.

    2.8 times the spread of the differences by question, 0.11, over the root of their number.

    >>> round(detectable(100), 3)
    0.031
    """
    return POWER * SPREAD / math.sqrt(max(1, questions))


def make_card(
    rows: Sequence[Row],
    clusters: Clusters,
    left_out: Mapping[str, int],
    quality: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the card without the counts and hashes, which are written with the files."""
    homes = {
        split: {clusters.of[row.place.passage.uri] for row in rows if row.split == split}
        for split in SPLITS
    }
    questions = len({row.question.id for row in rows if row.split == "test"})
    refused = sum((Counter(row.rivals.refused) for row in rows), Counter[str]())
    return {
        **facts,
        "clusters": {
            "all": clusters.count,
            "documents": len(clusters.of),
            **{split: len(names) for split, names in homes.items()},
        },
        "how": dict(Counter(row.question.how for row in rows)),
        "left_out": dict(sorted(left_out.items(), key=lambda item: (-item[1], item[0]))),
        "faults": sum(count for reason, count in left_out.items() if reason in FAULTS),
        "trained_documents": len({row.place.passage.uri for row in rows if row.split == "train"}),
        "negatives_refused": dict(refused.most_common()),
        "quality": quality,
        "detectable": {
            "questions": questions,
            "ndcg@10": round(detectable(questions), 3),
            "formula": f"{POWER} * {SPREAD} / sqrt(questions)",
        },
        "private": PRIVATE,
    }


def power_line(card: Mapping[str, Any]) -> str:
    """Say what a small test set can show; "" for 100 questions about 6 clusters or more."""
    questions, clusters = int(card["detectable"]["questions"]), card["clusters"]["test"]
    lines = []
    if questions < ENOUGH_QUESTIONS:
        lines.append(
            f"{questions} questions to prove by show a difference of about"
            f" {card['detectable']['ndcg@10']:.2f} in nDCG@10 or more, and nothing smaller"
            f" ({card['detectable']['formula']}): add documents, feedback or labelled questions for"
            " more"
        )
    if clusters < TEST_CLUSTERS:
        lines.append(
            f"The questions to prove by are about {clusters} clusters of documents: a comparison"
            f" by cluster shows no difference with fewer than {TEST_CLUSTERS}, however large it is"
        )
    return ". ".join(lines)


def describe_card(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card in plain words, as lines of Markdown."""
    counts, clusters, quality = card["counts"], card["clusters"], card["quality"]
    yield f"# Rows to train on, from collection {card['collection']}"
    yield ""
    yield (
        f"{counts['train']} rows to train on, {counts['dev']} to choose a checkpoint by,"
        f" {counts['test']} questions to prove the model by."
    )
    yield ""
    yield (
        f"- Documents: {clusters['documents']} in {clusters['all']} clusters of near-duplicates;"
        f" rows come from {clusters['train']} clusters in train, {clusters['dev']} in dev and"
        f" {clusters['test']} in test. No cluster is in two of them."
    )
    yield "- Questions:"
    for how, count in card["how"].items():
        yield f"  - {how}: {count} ({HOWS[how]})"
    if card["written_by"]:
        yield (
            f"- Written by the model {card['written_by']}: see whether its terms allow you to train"
            " on what it writes. Do not let the same model judge the result."
        )
    yield f"- Languages: {_listed(quality['languages'])}"
    yield (
        f"- Lengths in tokens of {card['model']}: queries {_range(quality['query_tokens'])},"
        f" passages {_range(quality['positive_tokens'])}"
    )
    if quality["truncated"]:
        cut = (
            f" Of {quality['answers_cut']} of them the answer stands there: train on more tokens"
            " (max_tokens of the recipe), or ingest with smaller chunks."
        )
        yield (
            f"- {quality['truncated']} rows have a passage of more than {quality['max_tokens']}"
            f" tokens, the rest of which is not trained on.{cut if quality['answers_cut'] else ''}"
        )
    yield (
        f"- Hard negatives: {quality['negatives_a_row']} a row on average; ranks 5 to 50 of"
        " ragkit's hybrid search, at least 5% less similar than the positive. Refused:"
        f" {_listed(card['negatives_refused']) or 'none'}"
    )
    yield f"- Repetition: {quality['repetition']:.1%} of the runs of five words stand twice"
    yield from _left_out_lines(card)
    yield f"- Seed: {card['seed']}. Hash: `{card['hash']}`"
    yield f"- {power_line(card)}." if power_line(card) else "- The test is large enough to prove by"
    yield f"- {card['private']}"


def _left_out_lines(card: Mapping[str, Any]) -> Iterator[str]:
    if card["review"]:
        yield (
            f"- {card['review']} rows may be mislabelled; read them in review.jsonl. They stay"
            " among the rows"
        )
    if not card["left_out"]:
        yield "- Nothing was left out"
        return
    yield f"- Left out, {card['faults']} of them for a fault:"
    for reason, count in card["left_out"].items():
        yield f"  - {count}: {reason}{' (fault)' if reason in FAULTS else ''}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _range(quartiles: Mapping[str, int]) -> str:
    return f"{quartiles['least']} to {quartiles['most']}, half of them {quartiles['half']} or less"
