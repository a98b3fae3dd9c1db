"""`ragkit chat`: a conversation in a terminal, or line by line from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ragkit.cli.as_of import AsOf, moment
from ragkit.cli.collection import AnswersFrom
from ragkit.cli.decoding import ShowReasoning
from ragkit.cli.where import Where, check_where
from ragkit.cli.words import counted, say, sentence

if TYPE_CHECKING:
    from ragkit.conversation import Conversation
    from ragkit.store.people.conversations import StoredConversation

PROMPT: Final = "> "
PARTIAL: Final = 3  # the exit code when some questions of a pipe failed
QUIT: Final = frozenset({"/quit", "quit", "exit", "退出"})
HELP: Final = """\
/again        answer the last question again and replace its answer
/again TEXT   replace the last question by this one
/new          begin a new conversation
/history      show this conversation
/sources      show the sources of the last answer in full
/export FILE  save this conversation to a new file: Markdown, or JSON for *.json
/delete       delete this conversation
/quit         quit (also Ctrl-D); Ctrl-C cancels an answer"""


def chat(
    collection: AnswersFrom = None,
    resume: Annotated[
        bool, typer.Option("--continue", help="Continue the latest conversation.")
    ] = False,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Continue the conversation with this id."),
    ] = None,
    where: Where = None,
    as_of: AsOf = None,
    show_reasoning: ShowReasoning = False,
) -> None:
    """Talk with your documents. The conversation is saved; type /help for the commands."""
    from ragkit.conversation import Conversation
    from ragkit.errors import UsageError
    from ragkit.settings.settings import load_settings

    if conversation is not None and resume:
        raise UsageError("give --continue or --conversation ID, not both")
    as_of_moment = moment(as_of)
    settings = load_settings()
    with Conversation.open(settings, id=conversation, collection=collection) as opened:
        talk = _latest(opened) if resume else opened
        if where is not None or as_of_moment is not None:
            talk = copy(talk)  # the one that was opened closes its database
            talk.kb = talk.kb.adapted(where=where, as_of=as_of_moment)
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
    """Return the latest conversation about the same collection. Raises UsageError without one."""
    from ragkit.errors import UsageError

    stored = _latest_stored(opened)
    if stored is None:
        raise UsageError(
            f"there is no conversation about collection {opened.kb.collection!r} yet: leave"
            " --continue out to begin one"
        )
    return opened.another(stored.id)


def _latest_stored(talk: Conversation) -> StoredConversation | None:
    stored = talk.conversations.all()
    return next((item for item in stored if item.collection == talk.kb.collection), None)


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
    """One run of the command: its conversation, and the commands that a line may name."""

    def __init__(self, talk: Conversation, *, show_reasoning: bool) -> None:
        self.talk = talk
        self.interactive = sys.stdin.isatty()
        self.failed = 0
        self._show_reasoning = show_reasoning
        self._commands: dict[str, Callable[[str], None]] = {
            "/again": self._repeat_question,
            "/new": self._begin_conversation,
            "/history": self._history,
            "/sources": self._sources,
            "/export": self._export,
            "/delete": self._delete,
            "/help": lambda _: typer.echo(say(HELP)),
        }

    def greet(self) -> None:
        if not self.interactive:
            return
        typer.echo(self._beginning())
        text = "Collection {name!r}. /help lists the commands, Ctrl-D quits."
        typer.echo(say(text, name=self.talk.kb.collection))

    def _beginning(self) -> str:
        """Return the first line: whether the conversation is new, and how to open the other."""
        turns = self.talk.turns()
        if turns:
            text = "Continuing “{title}” ({turns}, last on {date})."
            stored = self.talk.conversations.get(self.talk.id)
            counts = {"turns": counted(len(turns), "question")}
        else:
            latest = _latest_stored(self.talk)
            if latest is None:
                return say("A new conversation.")
            text = "A new conversation. `ragkit chat --continue` resumes “{title}” of {date}."
            stored, counts = latest, {}
        title = _printable(" ".join(stored.title.split()))[:60]
        return say(text, title=title, date=f"{stored.updated_at:%Y-%m-%d}", **counts)

    def remember(self) -> None:
        """Let the arrow keys bring back the conversation's questions."""
        try:
            import readline
        except ImportError:  # a Python built without it
            return
        for turn in self.talk.turns():
            readline.add_history(" ".join(turn.question.split()))

    def take(self, line: str) -> bool:
        """Run a command or ask a question; return False to end. Errors are printed, not raised."""
        from ragkit.errors import RagkitError

        typed = line.strip()
        if typed.lower() in QUIT:
            return False
        try:
            if typed.startswith("/"):
                self._command(*typed.partition(" ")[::2])
            elif typed:
                self._ask(typed)
        except RagkitError as error:
            self.failed += 1
            typer.echo(f"ragkit: {sentence(' '.join(str(error).split()))}", err=True)
        except KeyboardInterrupt:
            typer.echo("\n" + say("Cancelled: this question and answer are not saved."), err=True)
        return True

    def _ask(self, question: str, *, replace_last: bool = False) -> None:
        from ragkit.answer.plain_text import notes_text
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
        from ragkit.answer.labels import labels

        turn = self.talk.last
        if turn is not None and turn.query != turn.question:
            note = labels(turn.question)["searched for"].format(query=turn.query)
            typer.echo(_printable(note))
        typer.echo("")

    def _command(self, command: str, argument: str) -> None:
        from ragkit.errors import UsageError

        names = [*self._commands, "/quit"]
        if command not in names:
            close = get_close_matches(command, names, n=1)
            remedy = f"did you mean {close[0]}?" if close else "/help lists them"
            raise UsageError(f"there is no command {command[:40]!r}: {remedy}")
        if argument and command not in {"/export", "/again"}:
            raise UsageError(f"{command} takes no arguments: type it alone")
        self._commands[command](argument.strip())

    def _repeat_question(self, question: str) -> None:
        turns = self.talk.turns()
        self._ask(question or (turns[-1].question if turns else ""), replace_last=True)

    def _begin_conversation(self, _: str) -> None:
        self.talk = self.talk.another()
        typer.echo(say("A new conversation."))

    def _history(self, _: str) -> None:
        from ragkit.cli.conversation_text import print_turns

        print_turns(self.talk.turns())

    def _sources(self, _: str) -> None:
        from ragkit.cli.conversation_text import print_sources

        turns = self.talk.turns()
        if turns:
            print_sources(turns[-1])
        else:
            typer.echo(say("Nothing has been asked yet."))

    def _export(self, file: str) -> None:
        from ragkit.conversation.export import write
        from ragkit.errors import UsageError

        if not file:
            raise UsageError("/export needs a file: write /export answers.md, or answers.json")
        turns = self.talk.turns()
        if not turns:
            raise UsageError("there is nothing to export yet: ask something first")
        write(Path(file).expanduser(), self.talk.conversations.get(self.talk.id), turns)
        typer.echo(
            say("Saved {turns} to {file}.", turns=counted(len(turns), "question"), file=file)
        )

    def _delete(self, _: str) -> None:
        turns = self.talk.turns()
        question = say("Delete this conversation ({turns})?", turns=counted(len(turns), "question"))
        if turns and self.interactive and not typer.confirm(question):
            return
        if turns:
            self.talk.delete()
        typer.echo(say("Deleted. The next question begins a new conversation."))


def _printable(text: str) -> str:
    from ragkit.text.printable import printable

    return printable(text)
