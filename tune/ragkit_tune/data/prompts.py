"""Prompts to train on: the same templates as `ask` renders, with passages that do not answer too.

Which passages stand in a prompt, and where, is drawn by the seed; the model must not learn a place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.answer.check.verify import verify
from ragkit.answer.refuse.refusal import statement
from ragkit.answer.write.citations import cite
from ragkit.answer.write.llm import SAMPLE_TEMPERATURE, refusal_in
from ragkit.errors import SettingsError
from ragkit.prompts.messages import Prompt, build_prompt, default_budget
from ragkit.prompts.templates import Templates
from ragkit.types import Draft, Hit, Message
from ragkit_tune.data.answered import renumbered
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.questions import Place, Question, drawn

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit_tune.data.sources import Sources

# From messages and a number, that many answers of a language model.
Sampler = Callable[[Sequence[Message], int], Sequence[str]]
IsAllowed = Callable[[Hit], bool]


class Prompter:
    """Makes prompts from a collection's passages, and checks answers to them."""

    def __init__(
        self,
        kb: KnowledgeBase,
        sources: Sources,
        settings: Settings,
        miner: Miner,
        *,
        distractors: int,
        seed: int,
    ) -> None:
        self._kb = kb
        self._sources = sources
        self._miner = miner
        self._templates = Templates(settings.prompts, kb.collection)
        self._budget = settings.llm_budget_tokens or default_budget(
            settings.llm_context_tokens, settings.llm_max_tokens, gpu=True
        )
        self._distractors = distractors
        self._seed = seed
        self._documents = {document.id: document for document in sources.documents}

    def distractors(self, item: Question, is_allowed: IsAllowed) -> list[Hit]:
        """Find passages that are close to a question and do not answer it.

        For a question that the documents do not answer these are the best that a search finds.
        """
        if not item.places:
            return self._search(item.text, is_allowed)
        hits: dict[str, Hit] = {}

        def note(hit: Hit) -> bool:
            hits[hit.text] = hit
            return is_allowed(hit)

        rivals = self._miner.mine(item, item.places[0], note)
        return [hits[text] for text in rivals.negatives]

    def filled(
        self, item: Question, distractors: Sequence[Hit], is_allowed: IsAllowed
    ) -> list[Hit]:
        """Add what else a search finds where distractors are few, beside the right passages.

        Such a passage may answer too, which does no harm there.
        """
        if len(distractors) >= self._distractors:
            return list(distractors)
        shown = {hit.chunk for hit in distractors} | {p.passage.chunk for p in item.places}
        hits = [hit for hit in self._search(item.text, is_allowed) if hit.chunk not in shown]
        return [*distractors, *hits][: self._distractors]

    def prompt(
        self, item: Question, distractors: Sequence[Hit], *, gold: bool = True
    ) -> Prompt | None:
        """Render a question with its passages among others; None where none fits.

        Without `gold` the others stand there alone, and the right answer is a refusal.
        """
        passages = {place.passage.chunk: place.passage for place in item.places if gold}
        passages |= {hit.chunk: hit for hit in distractors if hit.chunk not in passages}
        if not passages:
            return None

        def in_drawn_order(hits: Sequence[Hit]) -> Sequence[Hit]:
            return sorted(hits, key=lambda hit: drawn(self._seed, item.text, hit.text, hit.start))

        try:
            return build_prompt(
                item.text,
                list(passages.values()),
                budget_tokens=self._budget,
                templates=self._templates,
                order=in_drawn_order,
            )
        except SettingsError:
            return None

    def check(self, answer: str, prompt: Prompt) -> Checked:
        """Check an answer to a prompt as `ask` checks it."""
        if refusal_in(answer):
            return Checked(is_refusal=True, is_supported=False)
        draft = Draft(answer, cite(answer, prompt.used), refused=False, reason="")
        claims = verify(draft, self._text, prompt.used).claims
        return Checked(False, bool(claims) and all(claim.is_supported for claim in claims))

    def _search(self, text: str, is_allowed: IsAllowed) -> list[Hit]:
        retriever = self._kb.retriever("hybrid", fresh=False, for_answer=True)
        hits = retriever.search(text, k=4 * (self._distractors + 1))
        return [hit for hit in hits if is_allowed(hit)][: self._distractors + 1]

    def _text(self, document: int) -> str:
        return self._sources.read(self._documents[document]).text


@dataclass(frozen=True, slots=True)
class Checked:
    """What ragkit's check says of an answer: a refusal, or whether all of it is supported."""

    is_refusal: bool
    is_supported: bool


def right_refusal(question: str) -> str:
    """Return the sentence by which a prompt asks to refuse."""
    return statement(question)


def numbered(answer: str, places: Sequence[Place], prompt: Prompt) -> str | None:
    """Return an answer with the prompt's numbers; None where a place it cites is not there."""
    numbers = {n: _number(place, prompt.used) for n, place in enumerate(places, 1)}
    present = {n: number for n, number in numbers.items() if number}
    return renumbered(answer, present) if len(present) == len(numbers) else None


def _number(place: Place, used: Sequence[Hit]) -> int:
    """Return the number of the source that holds a place, 0 for none."""
    for number, hit in enumerate(used, 1):
        overlaps = hit.start < place.span.end and place.span.start < hit.end
        if hit.document == place.passage.document and overlaps:
            return number
    return 0


def source_rows(prompt: Prompt) -> list[dict[str, Any]]:
    """Return a prompt's passages as rows have them, with the texts that answers are checked by."""
    return [
        {
            "document": hit.uri,
            "start": hit.start,
            "end": hit.end,
            "title": hit.title,
            "headings": list(hit.headings),
            "text": hit.text,
        }
        for hit in prompt.used
    ]


def message_rows(messages: Sequence[Message]) -> list[Mapping[str, str]]:
    """Return messages as rows have them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def served_sampler(settings: Settings) -> tuple[Sampler, str] | None:
    """Return what asks the settings' language model, and its name; None where they name none."""
    from dataclasses import replace

    from ragkit.knowledge.build import decoding, language_model
    from ragkit.types import Finish

    model = language_model(settings)
    if model is None:
        return None
    plain = decoding(settings)

    def sample(messages: Sequence[Message], count: int) -> list[str]:
        answers = []
        for number in range(count):
            varied = replace(
                plain,
                temperature=plain.temperature or (0.0 if count == 1 else SAMPLE_TEMPERATURE),
                seed=None if plain.seed is None else plain.seed + number,
            )
            pieces = list(model.stream(messages, varied))
            cut = any(isinstance(piece, Finish) and piece.reason == "length" for piece in pieces)
            text = "".join(piece for piece in pieces if isinstance(piece, str)).strip()
            if text and not cut:
                answers.append(text)
        return answers

    return sample, model.name
