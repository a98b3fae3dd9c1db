"""`ragkit ask --agent`: a model answers that searches as often as it needs, every step shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ragkit.cli.collection import AnswersFrom
from ragkit.cli.where import Where
from ragkit.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragkit.agent.run import Agent, Step
    from ragkit.agent.tree import Tree
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings

MAX_STEPS: Final = 6


def agent(
    question: Annotated[str, typer.Argument(help="The question, in English or Chinese.")],
    collection: AnswersFrom = None,
    where: Where = None,
    max_steps: Annotated[
        int, typer.Option(min=1, max=50, help="Calls of the language model, at most.")
    ] = MAX_STEPS,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens of all prompts and answers; none is begun after.")
    ] = 30_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    thoughts: Annotated[
        int | None, typer.Option(min=2, max=5, help="Next questions of a tree of thoughts.")
    ] = None,
) -> None:
    """Answer a question by searching several times: for one that needs facts put together.

    The language model must be able to call tools, except with `thoughts`. Steps are printed to
    standard error.
    """
    from ragkit.agent.run import Step
    from ragkit.answer.plain_text import notes_text
    from ragkit.cli import render
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings

    settings = load_settings()
    opened = _opener(settings, thoughts, max_steps, max_tokens)
    with KnowledgeBase.open(settings, collection=collection) as kb:
        agent_run = opened(kb.adapted(where=where))
        steps: list[Step] = []
        for piece in agent_run.stream(question):
            if isinstance(piece, Step):
                steps.append(piece)
                if not as_json:
                    typer.echo(_line(len(steps), piece), err=True)
            elif as_json:
                trace = [_step_json(step) for step in steps]
                render.print_json({**render.answer_json(piece), "steps": trace})
            else:
                typer.echo(printable(piece.text), nl=False)
                typer.echo(notes_text(question, piece), nl=False)


def _opener(
    settings: Settings, thoughts: int | None, max_steps: int, max_tokens: int
) -> Callable[[KnowledgeBase], Agent | Tree]:
    """Return what makes the agent of a knowledge base. Raises SettingsError without a model."""
    from ragkit.prompts.templates import Templates

    if thoughts is None:
        from ragkit.agent.chats import chat_models
        from ragkit.agent.run import Agent

        chats = chat_models(settings)
        return lambda kb: Agent(
            kb,
            chats,
            templates=Templates(settings.prompts, kb.collection),
            max_steps=max_steps,
            max_tokens=max_tokens,
        )
    from ragkit.agent.tree import Tree
    from ragkit.errors import SettingsError
    from ragkit.knowledge.build import language_model

    model = language_model(settings)
    if model is None:
        raise SettingsError("--thoughts needs a language model: set RAGKIT_LLM_URL")
    return lambda kb: Tree(
        kb,
        model,
        templates=Templates(settings.prompts, kb.collection),
        thoughts=thoughts,
        max_steps=max_steps,
        max_tokens=max_tokens,
    )


def _line(number: int, step: Step) -> str:
    from ragkit.text.printable import printable

    cost = f"{step.seconds:.1f} s" + (f", {step.tokens} tokens" if step.tokens else "")
    passages = f": {len(step.hits)} passages" if step.kind == "search" else ""
    if step.score is not None:
        passages += f", support {step.score:.2f}{'' if step.is_followed else ', not followed'}"
    text = " ".join(printable(step.text).split())
    return f"{number}. {step.kind} {text[:100]!r}{passages} ({cost})"


def _step_json(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "text": step.text,
        "found": [{"document": h.document, "start": h.start, "end": h.end} for h in step.hits],
        "seconds": round(step.seconds, 4),
        "tokens": step.tokens,
        **({} if step.score is None else {"score": step.score, "followed": step.is_followed}),
    }
