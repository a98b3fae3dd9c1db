"""How a language model is asked besides the rules: with examples, in steps, several times.

Examples and steps follow the rules in the system message, so that prompts begin alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit.prompts.messages import neutralise
from ragkit.prompts.templates import PromptLanguage, Templates

MAX_EXAMPLES: Final = 16  # arbitrary; few-shot prompts have 3 to 8
MAX_EXAMPLE_CHARS: Final = 4000  # of a question or an answer; arbitrary, two pages
MAX_SAMPLES: Final = 9  # arbitrary: each costs what an answer costs


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the answer that it should have had; markers like [1] show how to cite."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prompting:
    """Examples to follow, whether to reason in steps before the answer, and how many answers.

    Of several answers the one counts that most others agree with. Raises UsageError for more than
    the bounds allow.
    """

    examples: tuple[Example, ...] = ()
    steps: bool = False
    samples: int = 1

    def __post_init__(self) -> None:
        if len(self.examples) > MAX_EXAMPLES:
            raise UsageError(
                f"there are {len(self.examples)} examples: give at most {MAX_EXAMPLES}"
            )
        for number, example in enumerate(self.examples, 1):
            for part in (example.question, example.answer):
                if not part.strip() or len(part) > MAX_EXAMPLE_CHARS:
                    raise UsageError(
                        f"example {number} has a question or answer of {len(part)} characters:"
                        f" write 1 to {MAX_EXAMPLE_CHARS}"
                    )
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise UsageError(f"{self.samples} samples are asked for: take 1 to {MAX_SAMPLES}")

    def rules(self, templates: Templates, language: PromptLanguage) -> str:
        """Write what follows the rules of a prompt, "" for nothing. Raises SettingsError."""
        parts = []
        if self.examples:
            examples = [
                {"question": neutralise(e.question), "answer": neutralise(e.answer)}
                for e in self.examples
            ]
            parts.append(templates.render("examples", language, examples=examples))
        if self.steps:
            parts.append(templates.render("steps", language))
        return "\n\n".join(part.strip() for part in parts)

    def as_json(self) -> Mapping[str, Any]:
        """Return the options for a trace; the examples are counted."""
        return {"examples": len(self.examples), "steps": self.steps, "samples": self.samples}


def version_of(rules: str) -> str:
    """Return the part of a prompt's version that names these rules, "" for none.

    >>> version_of(""), version_of("Think first.")
    ('', '+503185a8')
    """
    return f"+{hashlib.sha256(rules.encode()).hexdigest()[:8]}" if rules else ""
