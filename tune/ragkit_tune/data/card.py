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
    questions = int(card["detectable"]["questions"])
    lines = []
    if questions < ENOUGH_QUESTIONS:
        lines.append(
            f"{questions} questions to test by show a difference of about"
            f" {card['detectable']['ndcg@10']:.2f} in nDCG@10 (how well a search puts the right"
            " passages first, 0 to 1) or more, and nothing smaller"
            f" ({card['detectable']['formula']}): add documents, ratings or questions of your own"
            " to show less"
        )
    if few := few_clusters_line(card):
        lines.append(few)
    return ". ".join(lines)


def few_clusters_line(card: Mapping[str, Any]) -> str:
    """Say that the test can show no difference at all; "" where it can."""
    clusters = card["clusters"]["test"]
    if clusters >= TEST_CLUSTERS:
        return ""
    return (
        f"The questions to test by are about only {clusters} document{'s' * (clusters != 1)} (near"
        f" copies count as one). With fewer than {TEST_CLUSTERS} no difference between two models"
        " can be shown, however large it is: ingest more documents; questions about"
        f" {2 * TEST_CLUSTERS + 2} of them are enough"
    )


def describe_card(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card in plain words, as lines of Markdown."""
    counts, quality = card["counts"], card["quality"]
    yield f"# Rows to train on, from collection {card['collection']}"
    yield ""
    yield (
        f"{counts['train']} rows to train on, {counts['dev']} to choose the best moment of the"
        f" training by, {counts['test']} questions to test the trained model by."
    )
    yield ""
    yield _documents_line(card["clusters"])
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
        f"- Lengths in tokens (words and pieces of words, as {card['model']} reads them):"
        f" questions {_range(quality['query_tokens'])}, passages"
        f" {_range(quality['positive_tokens'])}"
    )
    if quality["truncated"]:
        cut = (
            f" In {quality['answers_cut']} of them the answer stands in that rest: train on more"
            " tokens (max_tokens of the recipe), or ingest with smaller chunks."
        )
        yield (
            f"- {quality['truncated']} rows have a passage of more than {quality['max_tokens']}"
            f" tokens, the rest of which is not trained on.{cut if quality['answers_cut'] else ''}"
        )
    yield from _negatives_lines(card)
    yield (
        f"- Repeated wording: {quality['repetition']:.1%} of all runs of five words are there more"
        " than once"
    )
    yield from _review_lines(card)
    yield from _left_out_lines(card)
    yield f"- Seed of what was drawn by chance: {card['seed']}. Hash of the rows: `{card['hash']}`"
    yield f"- {power_line(card)}." if power_line(card) else "- The test is large enough"
    yield f"- {card['private']}"


def _documents_line(clusters: Mapping[str, int]) -> str:
    documents, apart = clusters["documents"], clusters["all"]
    copies = (
        "none of them nearly a copy of another"
        if documents == apart
        else f"of which near copies count as one, so {apart}"
    )
    return (
        f"- Documents: {documents}, {copies}. The rows to train on are about {clusters['train']} of"
        f" them, those to choose by about {clusters['dev']}, the questions to test by about"
        f" {clusters['test']}. No document is in two of these parts, and no near copy of one."
    )


def _negatives_lines(card: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"- Wrong passages: {card['quality']['negatives_a_row']} a row on average. The search finds"
        " them for the question, they do not answer it, and the model learns to tell them from the"
        " right one."
    )
    if card["negatives_refused"]:
        yield "- Passages that were found and not taken as wrong ones:"
        for reason, count in card["negatives_refused"].items():
            yield f"  - {count}: {reason}"


def _review_lines(card: Mapping[str, Any]) -> Iterator[str]:
    if card["review"]:
        yield (
            f"- {card['review']} rows may have a wrong passage: the model in use finds it far from"
            " its question. They are among the rows, and listed in review.jsonl for you to read"
        )
        yield (
            "  - If one is wrong, correct what it was made of, which `how` names, and make the rows"
            " anew in another folder. labelled: correct or remove the question in your set."
            " feedback: rate the answer anew. Other names: leave that way out of --how"
        )
        yield "  - Do not edit the files of rows: a training run refuses files that changed"


def _left_out_lines(card: Mapping[str, Any]) -> Iterator[str]:
    faults = {reason: n for reason, n in card["left_out"].items() if reason in FAULTS}
    others = {reason: n for reason, n in card["left_out"].items() if reason not in FAULTS}
    if not card["left_out"]:
        yield "- Nothing was left out"
    if faults:
        yield f"- {sum(faults.values())} rows were left out because something is wrong with them:"
        yield from (f"  - {count}: {reason}" for reason, count in faults.items())
    if others:
        yield f"- {sum(others.values())} rows were left out though nothing is wrong with them:"
        yield from (f"  - {count}: {reason}" for reason, count in others.items())


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _range(quartiles: Mapping[str, int]) -> str:
    return f"{quartiles['least']} to {quartiles['most']}, half of them {quartiles['half']} or less"
