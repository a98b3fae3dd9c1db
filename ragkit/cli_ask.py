"""`ragkit ask`: an answer with citations, streamed for people, whole as JSON."""

from typing import Annotated

import typer


def ask(
    question: Annotated[str, typer.Argument(help="The question, in English or Chinese.")],
    collection: Annotated[str | None, typer.Option(help="The collection to answer from.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Answer a question with citations, or say that the documents do not answer it."""
    from ragkit import render
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Answer

    with KnowledgeBase.open(collection=collection) as kb:
        if json:
            render.print_json(render.answer_json(kb.ask(question)))
            return
        for piece in kb.stream(question):
            if isinstance(piece, Answer):
                render.print_citations(piece)
            else:
                typer.echo(render.printable(piece), nl=False)
