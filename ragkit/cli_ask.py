"""`ragkit ask`: an answer with citations, streamed for people, whole as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragkit import cli_decoding as d
from ragkit.cli_as_of import AsOf, moment
from ragkit.cli_where import Where

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase


def ask(
    words: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="The question, in English or Chinese.")
    ],
    collection: Annotated[str | None, typer.Option(help="The collection to answer from.")] = None,
    where: Where = None,
    as_of: AsOf = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    show_reasoning: Annotated[
        bool,
        typer.Option(
            "--show-reasoning", help="Print a thinking model's reasoning, to standard error."
        ),
    ] = False,
    temperature: d.Temperature = None,
    top_p: d.TopP = None,
    top_k: d.TopK = None,
    min_p: d.MinP = None,
    repetition_penalty: d.RepetitionPenalty = None,
    presence_penalty: d.PresencePenalty = None,
    max_tokens: d.MaxTokens = None,
    stop: d.Stop = None,
    seed: d.Seed = None,
    json_schema: d.JsonSchema = None,
    regex: d.Regex = None,
) -> None:
    """Answer a question with citations, or say that the documents do not answer it."""
    from ragkit.knowledge import KnowledgeBase
    from ragkit.settings import load_settings

    question = " ".join(words)
    settings = load_settings()
    decoding = d.decoding_with(
        settings,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        max_tokens=max_tokens,
        stop=stop,
        seed=seed,
        json_schema=json_schema,
        regex=regex,
    )
    with KnowledgeBase.open(settings, collection=collection) as opened:
        kb = opened.adapted(where=where, as_of=moment(as_of), decoding=decoding)
        if json:
            _print_json(kb, question)
        else:
            _print(kb, question, show_reasoning=show_reasoning)


def _print_json(kb: KnowledgeBase, question: str) -> None:
    from ragkit import render
    from ragkit.errors import IncompleteAnswerError

    try:
        render.print_json(render.answer_json(kb.ask(question)))
    except IncompleteAnswerError as error:
        render.print_json(render.incomplete_json(error))
        raise


def _print(kb: KnowledgeBase, question: str, *, show_reasoning: bool) -> None:
    """Print as it comes; the reasoning apart, so that the output holds the answer alone."""
    from ragkit import render
    from ragkit.errors import IncompleteAnswerError
    from ragkit.types import Answer, Reasoning

    thinking = False
    try:
        for piece in kb.stream(question):
            if isinstance(piece, Reasoning):
                if show_reasoning:
                    typer.echo(render.printable(piece.text), nl=False, err=True)
                    thinking = True
                continue
            if thinking:
                typer.echo("\n", err=True)
                thinking = False
            if isinstance(piece, Answer):
                render.print_citations(piece)
            else:
                typer.echo(render.printable(piece), nl=False)
    except IncompleteAnswerError:
        typer.echo("")  # what came is not the line of the error
        raise
