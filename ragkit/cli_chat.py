"""`ragkit chat`: a conversation in a terminal, or line by line from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ragkit.cli_as_of import AsOf, moment
from ragkit.cli_collection import AnswersFrom
from ragkit.cli_where import Where, check_where

if TYPE_CHECKING:
    from ragkit.conversation import Conversation

PROMPT: Final = "> "
PARTIAL: Final = 3  # the exit code when some questions of a pipe failed
HELP: Final = """\
/again        answer the last question again, in the place of its answer
/again TEXT   ask this in the place of the last question
/new          begin another conversation
/history      print this conversation
/sources      print what the last answer cites, whole
/export FILE  write this conversation to a new file: Markdown, or JSON for *.json
/delete       delete this conversation
/quit         end (Ctrl-D); Ctrl-C cancels an answer"""


def chat(
    conversation: Annotated[
        str | None, typer.Option(metavar="ID", help="The conversation to go on with.")
    ] = None,
    collection: AnswersFrom = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new one instead of going on with the latest.")
    ] = False,
    where: Where = None,
    as_of: AsOf = None,
    show_reasoning: Annotated[
        bool,
        typer.Option(
            "--show-reasoning", help="Print a thinking model's reasoning, to standard error."
        ),
    ] = False,
) -> None:
    """Talk with your documents. The conversation is kept; /help lists what can be typed."""
    from ragkit.conversation import Conversation
    from ragkit.errors import UsageError
    from ragkit.settings import load_settings

    if conversation is not None and new:
        raise UsageError("--conversation and --new exclude each other: give one of them")
    then = moment(as_of)
    settings = load_settings()
    with Conversation.open(settings, id=conversation, collection=collection) as opened:
        talk = opened if new or conversation is not None else _latest(opened)
        if where is not None or then is not None:
            talk = copy(talk)  # the one that was opened closes its database
            talk.kb = talk.kb.adapted(where=where, as_of=then)
        if where is not None:
            check_where(talk.kb, where)
        talk.kb.load_entailment()  # or every answer would end in the same error
        chatting = _Chat(talk, show_reasoning=show_reasoning)
        chatting.greet()
        for line in _lines(chatting):
            if not chatting.take(line):
                break
    if chatting.failed and not chatting.interactive:
        raise typer.Exit(PARTIAL)


def _latest(opened: Conversation) -> Conversation:
    """Return the latest conversation about the same collection, or else the new one."""
    for stored in opened.conversations.all():
        if stored.collection == opened.kb.collection:
            return opened.another(stored.id)
    return opened


def _lines(chatting: _Chat) -> Iterator[str]:
    """Yield what is typed until its end; Ctrl-C drops the line."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    if not chatting.interactive:
        for line in sys.stdin:
            typer.echo(f"{PROMPT}{_printable(line.strip())}")
            yield line
        return
    chatting.remember()
    while True:
        try:
            yield input(PROMPT)
        except KeyboardInterrupt:
            typer.echo("")
        except EOFError:
            typer.echo("")
            return


class _Chat:
    """One run of the command: the conversation it is in, and what a line does to it."""

    def __init__(self, talk: Conversation, *, show_reasoning: bool) -> None:
        self.talk = talk
        self.interactive = sys.stdin.isatty()
        self.failed = 0
        self._show_reasoning = show_reasoning
        self._commands: dict[str, Callable[[str], None]] = {
            "/again": self._again,
            "/new": self._new,
            "/history": self._history,
            "/sources": self._sources,
            "/export": self._export,
            "/delete": self._delete,
            "/help": lambda _: typer.echo(HELP),
        }

    def greet(self) -> None:
        if not self.interactive:
            return
        turns = self.talk.turns()
        if turns:
            title = _printable(" ".join(turns[0].question.split()))[:60]
            typer.echo(
                f"Going on with {str(self.talk.id)[:8]}, “{title}”, {len(turns)} turns so far."
            )
        typer.echo(
            f"Collection {self.talk.kb.collection!r}. /help lists the commands, Ctrl-D ends."
        )

    def remember(self) -> None:
        """Let the arrow keys bring back the conversation's questions."""
        try:
            import readline
        except ImportError:  # a Python built without it
            return
        for turn in self.talk.turns():
            readline.add_history(" ".join(turn.question.split()))

    def take(self, line: str) -> bool:
        """Do what a line says; False ends the chat. An error is one line, and the chat goes on."""
        from ragkit.errors import RagkitError

        typed = line.strip()
        if typed == "/quit":
            return False
        try:
            if typed.startswith("/"):
                self._command(*typed.partition(" ")[::2])
            elif typed:
                self._ask(typed)
        except RagkitError as error:
            self.failed += 1
            typer.echo(f"ragkit: {' '.join(str(error).split())}", err=True)
        except KeyboardInterrupt:
            typer.echo("\nCancelled; nothing of it was kept.", err=True)
        return True

    def _ask(self, question: str, *, replace_last: bool = False) -> None:
        from ragkit.answer_text import notes_text
        from ragkit.errors import IncompleteAnswerError
        from ragkit.types import Answer, Reasoning

        try:
            for piece in self.talk.stream(question, replace_last=replace_last):
                if isinstance(piece, Reasoning):
                    if self._show_reasoning:
                        typer.echo(_printable(piece.text), nl=False, err=True)
                elif isinstance(piece, Answer):
                    typer.echo(notes_text(question, piece), nl=False)
                    self._say_query()
                else:
                    typer.echo(_printable(piece), nl=False)
        except IncompleteAnswerError:
            typer.echo("")  # what came is not the line of the error
            raise

    def _say_query(self) -> None:
        from ragkit.answer_labels import labels

        turn = self.talk.last
        if turn is not None and turn.query != turn.question:
            note = labels(turn.question)["searched for"].format(query=turn.query)
            typer.echo(_printable(note))
        typer.echo("")

    def _command(self, command: str, rest: str) -> None:
        from ragkit.errors import UsageError

        known = [*self._commands, "/quit"]
        if command not in known:
            close = get_close_matches(command, known, n=1)
            remedy = f"did you mean {close[0]}?" if close else "/help lists those there are"
            raise UsageError(f"there is no command {command[:40]!r}: {remedy}")
        if rest and command not in {"/export", "/again"}:
            raise UsageError(f"{command} takes nothing: write it alone")
        self._commands[command](rest.strip())

    def _again(self, question: str) -> None:
        turns = self.talk.turns()
        self._ask(question or (turns[-1].question if turns else ""), replace_last=True)

    def _new(self, _: str) -> None:
        self.talk = self.talk.another()
        typer.echo("A new conversation.")

    def _history(self, _: str) -> None:
        from ragkit.conversation.screen import print_turns

        print_turns(self.talk.turns())

    def _sources(self, _: str) -> None:
        from ragkit.conversation.screen import print_sources

        turns = self.talk.turns()
        if turns:
            print_sources(turns[-1])
        else:
            typer.echo("Nothing has been asked yet.")

    def _export(self, file: str) -> None:
        from ragkit.conversation.export import write
        from ragkit.errors import UsageError

        if not file:
            raise UsageError("/export needs a file: write /export answers.md, or answers.json")
        turns = self.talk.turns()
        if not turns:
            raise UsageError("there is nothing to export yet: ask something first")
        write(Path(file).expanduser(), self.talk.conversations.get(self.talk.id), turns)
        typer.echo(f"Wrote {len(turns)} turns to {file}.")

    def _delete(self, _: str) -> None:
        turns = self.talk.turns()
        if turns and self.interactive and not typer.confirm(f"Delete {len(turns)} turns?"):
            return
        if turns:
            self.talk.delete()
        typer.echo("Deleted; the next question begins a new conversation.")


def _printable(text: str) -> str:
    from ragkit.render import printable

    return printable(text)
