"""`ragkit ask`: an answer with citations, streamed for people, whole as JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from ragkit.cli.as_of import AsOf
from ragkit.cli.collection import AnswersFrom
from ragkit.cli.decoding import DecodingOptions, ShowReasoning, decoding_with
from ragkit.cli.output import AskRequest
from ragkit.cli.output_values import print_outputs
from ragkit.cli.prompting import ExamplesFile, InSteps, Samples, prompting_with
from ragkit.cli.where import Where
from ragkit.types import Mode


def ask(
    words: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="The question, in English or Chinese.")
    ],
    collection: AnswersFrom = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Number of passages to answer from (default: 5).")
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(
            help="Search mode: by meaning and by words (hybrid), by meaning "
            "(dense) or by words (lexical) (default: hybrid)."
        ),
    ] = None,
    where: Where = None,
    as_of: AsOf = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    show_reasoning: ShowReasoning = False,
    option: DecodingOptions = None,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="DOCUMENT",
            help="Instead of answering, explain why this document is not among the sources.",
        ),
    ] = None,
    agent: Annotated[
        bool,
        typer.Option("--agent", help="Let the language model search several times, step by step."),
    ] = False,
    max_steps: Annotated[
        int | None,
        typer.Option(
            min=1, max=50, help="Maximum number of model calls with --agent (default: 6)."
        ),
    ] = None,
    thoughts: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=5,
            help="With --agent: search for this many next questions at a time, and go on from "
            "the best supported.",
        ),
    ] = None,
    examples: ExamplesFile = None,
    steps: InSteps = False,
    samples: Samples = None,
) -> None:
    """Answer a question with citations, or say that the documents do not answer it."""
    question = " ".join(words)
    if agent or why is not None:
        _check_alone(agent, why, k, mode, as_of, option, show_reasoning)
        if examples is not None or steps or samples is not None:
            raise typer.BadParameter(
                "--examples, --steps and --samples go with neither --agent nor --why"
            )
    if max_steps is not None and not agent:
        raise typer.BadParameter("--max-steps goes with --agent")
    if thoughts is not None and not agent:
        raise typer.BadParameter("--thoughts goes with --agent")
    if why is not None:
        from ragkit.cli.why import why as explain

        return explain(question, why, collection, k, mode or "hybrid", where, as_of, json=json)
    if agent:
        from ragkit.cli.agent import MAX_STEPS
        from ragkit.cli.agent import agent as answer

        return answer(
            question, collection, where, max_steps or MAX_STEPS, as_json=json, thoughts=thoughts
        )
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings

    request = AskRequest(question, collection, k, mode, where, as_of, json, show_reasoning)
    settings = load_settings()
    decoding = decoding_with(settings, option or ())
    prompting = prompting_with(settings, examples, samples, steps=steps)
    with KnowledgeBase.open(settings, collection=collection) as kb:
        print_outputs(request.output(kb.adapted(decoding=decoding, prompting=prompting)))


def _check_alone(
    agent: bool,
    why: str | None,
    k: int | None,
    mode: Mode | None,
    as_of: str | None,
    option: list[str] | None,
    show_reasoning: bool,
) -> None:
    """Refuse options that --agent and --why leave unused."""
    if agent and why is not None:
        raise typer.BadParameter("give --agent or --why, not both")
    if option or show_reasoning:
        raise typer.BadParameter("-o and --show-reasoning go with neither --agent nor --why")
    if agent and (k is not None or mode is not None or as_of is not None):
        raise typer.BadParameter("-k, --mode and --as-of do not go with --agent")
