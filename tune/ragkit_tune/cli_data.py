"""`ragkit tune data`: make rows to train on from one's own documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from ragkit.cli.stages import Stages

if TYPE_CHECKING:
    from ragkit_tune.data.data_set import DataSet
    from ragkit_tune.data.make import OnlyPassages

NEGATIVES: Final = 3
HowOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,...",
        help="How questions are made: headings, tables, numbers, definitions, cloze, feedback,"
        " asked, labelled (default: all but asked; labelled alone with --set).",
    ),
]
SetOption = Annotated[
    Path | None,
    typer.Option("--set", metavar="FILE", help="Your own labelled questions, as JSON lines."),
]


def data(
    out: Annotated[Path, typer.Option(metavar="DATA", help="Folder to write the rows to.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to make rows from.")
    ] = None,
    kind: Annotated[
        Literal["pairs", "chat", "preference", "completion"],
        typer.Option(
            help="What a row holds: a question with passages (embedder, reranker), a chat (sft,"
            " grpo), two answers (dpo, reward), one rated answer (kto)."
        ),
    ] = "pairs",
    how: HowOption = None,
    labelled: SetOption = None,
    language: Annotated[
        Literal["en", "zh"] | None, typer.Option(help="Only questions in this language.")
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, max=10_000_000, help="Maximum number of rows; 0 for all.")
    ] = 0,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed of the split and the draws.")
    ] = 0,
    test_share: Annotated[
        float | None,
        typer.Option(
            min=0.05,
            max=0.8,
            help="Share of the questions to prove by; a tenth chooses the checkpoint (default:"
            " 0.2).",
        ),
    ] = None,
    negatives: Annotated[
        int, typer.Option(min=0, max=20, help="Maximum number of wrong passages of a row.")
    ] = NEGATIVES,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=8,
            max=100_000,
            help="Tokens of a passage that will be trained on (default: those of a recipe).",
        ),
    ] = None,
    allow_dropped: Annotated[
        bool,
        typer.Option("--allow-dropped", help="Go on when over a tenth of the rows has a fault."),
    ] = False,
    ask: Annotated[
        int,
        typer.Option(
            min=0, max=10_000, help="Passages to list that your own questions would help most with."
        ),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the card.")] = False,
) -> None:
    """Make rows to train on from your documents: questions, right passages and wrong ones.

    The folder gets train.jsonl, dev.jsonl, test.jsonl with questions about other documents, and a
    card that says what was left out and why. Chats and answers come from --set, from the answers
    that people rated, and from the language model of the settings.
    """
    from ragkit.errors import UsageError

    if kind != "pairs":
        if how or ask or rows or test_share is not None:
            raise UsageError(
                f"--how, --ask, --rows and --test-share do not go with --kind {kind}: leave them"
                " out"
            )
        _make_answers(
            kind, out, collection, labelled, language or "", seed, allow_dropped, as_json=as_json
        )
        return
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit_tune.data.checks import FEWEST
    from ragkit_tune.data.clusters import TEST_SHARE
    from ragkit_tune.data.make import OnlyPassages, make_data
    from ragkit_tune.data.next_step import next_step

    settings = load_settings()
    values: dict[str, object] = {
        "collection": collection,
        "language": language,
        "rows": rows if rows >= FEWEST else None,
        "seed": seed or None,
        "test-share": test_share,
        "negatives": None if negatives == NEGATIVES else negatives,
        "max-tokens": max_tokens,
    }
    options = [
        text
        for name, value in values.items()
        if value is not None
        for text in (f"--{name}", str(value))
    ]
    options += ["--allow-dropped"] if allow_dropped else []
    with KnowledgeBase.open(settings, collection=collection) as kb, Stages() as stages:
        try:
            made: DataSet | OnlyPassages = make_data(
                kb,
                out,
                settings=settings,
                hows=_names(how),
                labelled=labelled,
                language=language or "",
                rows=rows,
                seed=seed,
                test_share=TEST_SHARE if test_share is None else test_share,
                negatives=negatives,
                max_tokens=max_tokens,
                allow_dropped=allow_dropped,
                ask=ask,
                progress=stages.show,
            )
        except OnlyPassages as error:
            made = error
    step = next_step(out, options, hows=_names(how), labelled=labelled) if ask else ""
    _show(made, out, step, as_json=as_json)


def _show(made: DataSet | OnlyPassages, out: Path, step: str, *, as_json: bool) -> None:
    """Print the card or why there are no rows, a warning where they prove nothing, what is next."""
    from ragkit.cli.render import print_json
    from ragkit.text.printable import printable
    from ragkit_tune.data.card import describe_card, few_clusters_line
    from ragkit_tune.data.make import OnlyPassages

    if isinstance(made, OnlyPassages):
        if as_json:
            print_json(
                {"out": str(out), "ask": str(made.path), "reason": made.reason, "next": step}
            )
        else:
            typer.echo(printable(f"No rows yet: {made.reason}. {step}"))
        return
    if as_json:
        print_json({"out": str(out), **made.card})
    else:
        for line in describe_card(made.card):
            typer.echo(printable(line))
        if step:
            typer.echo(printable(step))
    if warning := few_clusters_line(made.card):
        typer.echo(printable(f"Warning: {warning}."), err=True)


def _make_answers(
    kind: Literal["chat", "preference", "completion"],
    out: Path,
    collection: str | None,
    labelled: Path | None,
    language: str,
    seed: int,
    allow_dropped: bool,
    *,
    as_json: bool,
) -> None:
    """Make rows of answers, and print their card."""
    from functools import partial

    from ragkit.cli.render import print_json
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit.text.printable import printable
    from ragkit_tune.data.chat import Origins, make_chat_rows
    from ragkit_tune.data.collected import describe_card
    from ragkit_tune.data.preferences import make_preference_rows
    from ragkit_tune.data.prompts import served_sampler

    settings = load_settings()
    sampler, model = served_sampler(settings) or (None, "")
    origins = Origins(labelled=labelled, sampler=sampler, written_by=model)
    make = make_chat_rows if kind == "chat" else partial(make_preference_rows, kind=kind)
    with KnowledgeBase.open(settings, collection=collection) as kb, Stages() as stages:
        made = make(
            kb,
            out,
            settings=settings,
            origins=origins,
            language=language,
            seed=seed,
            allow_dropped=allow_dropped,
            progress=stages.show,
        )
    if as_json:
        print_json({"out": str(out), **made.card})
    else:
        typer.echo(printable(describe_card(made.card)))


def _names(text: str | None) -> Sequence[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
