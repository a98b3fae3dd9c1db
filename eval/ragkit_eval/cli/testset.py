"""`ragkit eval testset`: make a labelled set from the user's own documents."""

# ruff: noqa: PT028 - a command that makes a test set is no test

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragkit_eval.cli.options import JsonOption
from ragkit_eval.cli.output import progress_bar

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit_eval.sets import Question
    from ragkit_eval.testset.make import TestSet
    from ragkit_eval.testset.model_writer import Writer

QUESTIONS = 50  # by default; arbitrary
EXAMPLES = 4
UNANSWERABLE = 0.2  # of the questions; with fewer, refusals are hardly measured; arbitrary
Method = Literal["llm", "rules", "cloze"]
Language = Literal["en", "zh"]
_METHODS = {"llm": "by the language model", "rules": "by rules", "cloze": "cloze alone"}


def testset(
    out: Annotated[Path, typer.Option(help="File to write the labelled set to, as JSON lines.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to make questions from.")
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            min=1, max=100_000, help=f"How many; {QUESTIONS}, or fewer if there are no more."
        ),
    ] = None,
    unanswerable: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of questions that the documents do not answer."),
    ] = UNANSWERABLE,
    language: Annotated[
        Language | None, typer.Option(help="Only documents in this language.")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="How to make questions: with the language model of the settings"
            " (the default if there is one), by rules, or by rules with "
            "sentences to complete only."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed; another seed draws other questions.")
    ] = 0,
    json: JsonOption = False,
) -> None:
    """Make a labelled set of questions from your own documents, to evaluate and calibrate with."""
    from ragkit.cli import render
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit_eval.testset.label import check_new, write
    from ragkit_eval.testset.make import make

    check_new(out)
    settings = load_settings()
    requested = questions or QUESTIONS
    with KnowledgeBase.open(settings, collection=collection) as kb:
        writer = _make_writer(kb, settings, method, seed)
        with progress_bar("Making questions", requested) as progress:
            result = make(
                kb.store,
                kb.collection,
                questions=requested,
                unanswerable=unanswerable,
                language=language,
                seed=seed,
                writer=writer,
                only_cloze=method == "cloze",
                progress=progress,
            )
        name = kb.collection
    if result.questions:
        write(out, result.questions)
    used_method: Method = "llm" if writer else "cloze" if method == "cloze" else "rules"
    if json:
        details = {
            "collection": name,
            "method": used_method,
            **_describe_writer(writer),
            "seed": seed,
        }
        render.print_json(_make_json(result, out) | details)
    else:
        _print(result, out, requested, round(requested * unanswerable), used_method)
    if not result.questions:
        raise typer.Exit(1)
    if result.stopped:
        raise typer.Exit(3)
    if questions is not None and len(result.questions) < questions:
        raise typer.Exit(3)


def _make_writer(
    kb: KnowledgeBase, settings: Settings, method: Method | None, seed: int
) -> Writer | None:
    from ragkit.errors import SettingsError
    from ragkit.knowledge import build
    from ragkit.model.open import LOCAL
    from ragkit_eval.testset.model_writer import Writer

    if method in {"rules", "cloze"}:
        return None
    model = build.language_model(settings)
    if model is not None:
        if (settings.llm_url or "").startswith(LOCAL):
            raise SettingsError(
                "a model that runs inside ragkit cannot be bound to a schema: serve it with"
                " `ragkit model serve`, or use --method rules"
            )
        return Writer(model, lambda question: kb.search(question, k=10), seed)
    if method == "llm":
        raise SettingsError("no language model is set: set RAGKIT_LLM_URL, or use --method rules")
    return None


def _describe_writer(writer: Writer | None) -> dict[str, str]:
    from ragkit_eval.testset import prompts

    return {"model": writer.model.name, "prompt": prompts.version()} if writer else {}


def _make_json(result: TestSet, out: Path) -> dict[str, Any]:
    return {
        "out": str(out) if result.questions else None,
        "questions": len(result.questions),
        "answerable": len(result.questions) - result.unanswerable,
        "unanswerable": result.unanswerable,
        "kinds": result.kinds,
        "documents": len({question.group for question in result.questions}),
        "stopped": result.stopped,
        "rejected": dict(sorted(result.rejected.items(), key=lambda item: -item[1])),
    }


def _print(result: TestSet, out: Path, requested: int, unanswerable: int, method: Method) -> None:
    from ragkit.text.printable import printable
    from ragkit_eval.testset.kinds import SHOWS

    if not result.questions:
        typer.echo("No question could be made; nothing was written.")
    else:
        documents = len({question.group for question in result.questions})
        typer.echo(
            f"{len(result.questions)} questions about {documents} of {result.documents} documents"
            f" ({_METHODS[method]}), {result.unanswerable} of them unanswerable:"
            f" {printable(str(out))}"
        )
        for kind, count in result.kinds.items():
            typer.echo(f"  {count:5}  {kind:<15} {SHOWS[kind]}")
        typer.echo("For example:")
        for question in _choose_examples(result.questions):
            answer = question.answers[0] if question.answers else "no document answers this"
            typer.echo(f"  {printable(question.text)}\n    → {printable(answer)}")
    if result.rejected:
        typer.echo("Places that gave no question, and why:")
        for reason, count in sorted(result.rejected.items(), key=lambda item: -item[1]):
            typer.echo(f"  {count:5}  {reason}")
    for note in _list_notes(result, requested, unanswerable, method):
        typer.echo(f"Note: {note}")


def _choose_examples(questions: Sequence[Question]) -> list[Question]:
    """Choose the first question of some kinds, and one unanswerable question."""
    first: dict[str, Question] = {}
    for question in questions:
        if question.answers or question.answerable is False:
            first.setdefault(question.tags["kind"], question)
    answered = [question for question in first.values() if question.answers]
    unanswerable = [question for question in first.values() if question.answerable is False]
    return answered[:EXAMPLES] + unanswerable[:1]


def _list_notes(
    result: TestSet, requested: int, unanswerable: int, method: Method
) -> Iterator[str]:
    if result.stopped:
        yield f"it stopped early: {result.stopped}"
        return
    answerable = len(result.questions) - result.unanswerable
    if answerable < requested - unanswerable:
        yield f"the documents gave {answerable} answerable questions of {requested - unanswerable}."
    if result.unanswerable < unanswerable:
        yield f"{result.unanswerable} unanswerable questions of {unanswerable} passed the checks."
    if 0 < len({question.group for question in result.questions}) < 2:
        yield (
            "all questions are about one document: they are not independent, and no interval can"
            " be told from them."
        )
    if result.unanswerable:
        yield "read the unanswerable ones before you rely on them: only words were compared."
    if result.questions:
        yield (
            "the set shows what breaks and what is refused, kind by kind; how good answers to your"
            " users' own questions are, only those can show (docs/howto/testset.md)."
        )
