"""`ragkit tune data`: make rows to train on from one's own documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from ragkit.cli.stages import Stages

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
        int, typer.Option(min=0, max=20, help="Maximum number of hard negatives of a row.")
    ] = 3,
    max_tokens: Annotated[
        int, typer.Option(min=8, max=100_000, help="Tokens of a passage that will be trained on.")
    ] = 256,
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
    """Make rows to train on from your documents: questions, passages and hard negatives.

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
    from ragkit.cli.render import print_json
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit.text.printable import printable
    from ragkit_tune.data.card import describe_card
    from ragkit_tune.data.clusters import TEST_SHARE
    from ragkit_tune.data.make import make_data

    settings = load_settings()
    with KnowledgeBase.open(settings, collection=collection) as kb, Stages() as stages:
        made = make_data(
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
    if as_json:
        print_json({"out": str(out), **made.card})
        return
    for line in describe_card(made.card):
        typer.echo(printable(line))
    if ask:
        typer.echo(
            f"Write questions into {printable(str(out / 'ask.jsonl'))}, then pass it as --set."
        )


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
