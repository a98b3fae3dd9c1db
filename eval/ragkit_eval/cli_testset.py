"""`ragkit eval testset`: questions from the user's own documents, each with its place in them."""

# ruff: noqa: PT028 - a command that makes a test set is no test

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase
    from ragkit.settings import Settings
    from ragkit_eval.sets import Question
    from ragkit_eval.testset.make import TestSet
    from ragkit_eval.testset.written import Writer

MANY = 50  # questions when nobody says; arbitrary
SHOWN = 4
UNANSWERABLE = 0.2  # of them; fewer say little of when a collection refuses, arbitrary
Method = Literal["llm", "rules", "cloze"]
Language = Literal["en", "zh"]
_BY = {"llm": "by the language model", "rules": "by rules", "cloze": "cloze alone"}


def testset(
    out: Annotated[Path, typer.Option(help="File to write the labelled set to, as JSON lines.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to make questions from.")
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help=f"How many; {MANY}, or fewer if there are no more."),
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
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a labelled set of questions from your own documents, to evaluate and calibrate with."""
    from ragkit import render
    from ragkit.knowledge import KnowledgeBase
    from ragkit.settings import load_settings
    from ragkit_eval.testset.made import check_new, write
    from ragkit_eval.testset.make import make

    check_new(out)
    settings = load_settings()
    wanted = questions or MANY
    with KnowledgeBase.open(settings, collection=collection) as kb:
        writer = _writer(kb, settings, method, seed)
        with _progress(wanted) as progress:
            made = make(
                kb.store,
                kb.collection,
                questions=wanted,
                unanswerable=unanswerable,
                language=language,
                seed=seed,
                writer=writer,
                only_cloze=method == "cloze",
                progress=progress,
            )
        name = kb.collection
    if made.questions:
        write(out, made.questions)
    chosen: Method = "llm" if writer else "cloze" if method == "cloze" else "rules"
    if json:
        told = {"collection": name, "method": chosen, **_of_writer(writer), "seed": seed}
        render.print_json(_json(made, out) | told)
    else:
        _print(made, out, wanted, round(wanted * unanswerable), chosen)
    if not made.questions:
        raise typer.Exit(1)
    if made.stopped:
        raise typer.Exit(3)
    if questions is not None and len(made.questions) < questions:
        raise typer.Exit(3)


def _writer(
    kb: KnowledgeBase, settings: Settings, method: Method | None, seed: int
) -> Writer | None:
    from ragkit import build
    from ragkit.errors import SettingsError
    from ragkit.model.open import LOCAL
    from ragkit_eval.testset.written import Writer

    if method in {"rules", "cloze"}:
        return None
    model = build.language_model(settings)
    if model is not None:
        if (settings.llm_url or "").startswith(LOCAL):
            raise SettingsError(
                "a model in ragkit's own process cannot be bound to a schema: serve it with"
                " `ragkit model serve`, or use --method rules"
            )
        return Writer(model, lambda question: kb.search(question, k=10), seed)
    if method == "llm":
        raise SettingsError("no language model is set: set RAGKIT_LLM_URL, or use --method rules")
    return None


def _of_writer(writer: Writer | None) -> dict[str, str]:
    from ragkit_eval.testset import prompts

    return {"model": writer.model.name, "prompt": prompts.version()} if writer else {}


def _json(made: TestSet, out: Path) -> dict[str, Any]:
    return {
        "out": str(out) if made.questions else None,
        "questions": len(made.questions),
        "answerable": len(made.questions) - made.unanswerable,
        "unanswerable": made.unanswerable,
        "kinds": made.kinds,
        "documents": len({question.group for question in made.questions}),
        "stopped": made.stopped,
        "rejected": dict(sorted(made.rejected.items(), key=lambda item: -item[1])),
    }


def _print(made: TestSet, out: Path, wanted: int, without: int, method: Method) -> None:
    from ragkit.render import printable
    from ragkit_eval.testset.kinds import SHOWS

    if not made.questions:
        typer.echo("No question could be made; nothing was written.")
    else:
        asked = len({question.group for question in made.questions})
        typer.echo(
            f"{len(made.questions)} questions about {asked} of {made.documents} documents"
            f" ({_BY[method]}), {made.unanswerable} of them unanswerable: {printable(str(out))}"
        )
        for kind, count in made.kinds.items():
            typer.echo(f"  {count:5}  {kind:<15} {SHOWS[kind]}")
        typer.echo("For example:")
        for question in _examples(made.questions):
            answer = question.answers[0] if question.answers else "no document answers this"
            typer.echo(f"  {printable(question.text)}\n    → {printable(answer)}")
    if made.rejected:
        typer.echo("Places that gave no question, and why:")
        for reason, count in sorted(made.rejected.items(), key=lambda item: -item[1]):
            typer.echo(f"  {count:5}  {reason}")
    for note in _notes(made, wanted, without, method):
        typer.echo(f"Note: {note}")


def _examples(questions: Sequence[Question]) -> list[Question]:
    """Choose the first question of each of some kinds, and one that no document answers."""
    first: dict[str, Question] = {}
    for question in questions:
        if question.answers or question.answerable is False:
            first.setdefault(question.tags["kind"], question)
    answered = [question for question in first.values() if question.answers]
    without = [question for question in first.values() if question.answerable is False]
    return answered[:SHOWN] + without[:1]


def _notes(made: TestSet, wanted: int, without: int, method: Method) -> Iterator[str]:
    if made.stopped:
        yield f"it stopped early: {made.stopped}"
        return
    answerable = len(made.questions) - made.unanswerable
    if answerable < wanted - without:
        yield f"the documents gave {answerable} answerable questions of {wanted - without}."
    if made.unanswerable < without:
        yield f"{made.unanswerable} unanswerable questions of {without} passed the checks."
    if 0 < len({question.group for question in made.questions}) < 2:
        yield (
            "all questions are about one document: they are not independent, and no interval can"
            " be told from them."
        )
    if made.unanswerable:
        yield "read the unanswerable ones before you rely on them: only words were compared."
    if made.questions:
        yield (
            "the set shows what breaks and what is refused, kind by kind; how good answers to your"
            " users' own questions are, only those can show (docs/howto/testset.md)."
        )


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Making questions", total=total)
        yield lambda done: bar.update(task, completed=done)
