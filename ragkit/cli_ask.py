"""`ragkit ask`: an answer with citations, streamed for people, whole as JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from ragkit import cli_decoding as d
from ragkit.cli_as_of import AsOf
from ragkit.cli_collection import AnswersFrom
from ragkit.cli_where import Where
from ragkit.command_output import AskRequest
from ragkit.outputs import print_outputs
from ragkit.types import Mode


def ask(
    words: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="The question, in English or Chinese.")
    ],
    collection: AnswersFrom = None,
    k: Annotated[
        int | None, typer.Option("-k", help="How many passages to answer from; 5 unless told.")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="By meaning and words, which is usual, or by one alone.")
    ] = None,
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

    request = AskRequest(" ".join(words), collection, k, mode, where, as_of, json, show_reasoning)
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
    with KnowledgeBase.open(settings, collection=collection) as kb:
        print_outputs(request.output(kb.adapted(decoding=decoding)))
