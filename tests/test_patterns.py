"""Every regular expression of the code takes linear time, whatever the text.

One that does not stops everything in its process, because `re` holds the interpreter's lock.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import pytest

from tests.adversarial import Attack, attacks
from tests.growth import first_slow
from tests.patterns import Inventory, Pattern, inventory

SIZE: Final = 8_192
# The most characters that the code gives to a pattern, where that is fewer: a slice or a check
# stands before each of these.
MOST: Final[Mapping[str, int]] = {
    "ragkit.answer.check.names._OPENING": 12,  # _LOOK_BACK
    "ragkit.question.inferred_filter": 600,  # filters read a question's first MAX_CHARS
    "ragkit_eval.tasks.extract: '\\\\\\\\(?:text|mbox)": 120,  # a line that `math_answer` measured
    "ragkit_ingest.parse.code": 400,  # a line that may define something, _MAX_LINE_CHARS
    "ragkit_ingest.parse.office.numberformats": 255,  # _MAX_CODE_CHARS
    "ragkit_ingest.parse.pdf.furniture._ALONE": 24,  # _MAX_COUNTER_CHARS
    "ragkit_ingest.parse.pdf.hyphens._TAIL": 100,  # a line's last characters
    "ragkit_serve.page.suggested_": 300,  # longer sentences are left out
}
# These read what ragkit or its dependencies ship, and no text of a user's.
TRUSTED: Final = {
    "ragkit.cli.help",  # the help that ragkit's own commands are written with
    "ragkit_serve.page.frontend",  # the page that Gradio ships
    "ragkit_eval.tasks.prefixes._REASONING",  # the prompts that BIG-Bench Hard ships
}
# Modules with patterns that are made when they run, and what the text is that these see.
MADE: Final[Mapping[str, str]] = {
    "ragkit.embed.words": "any: one class of characters, see test_text_growth.py",
    "ragkit.model_size.size": "names of a model's layers",
    "ragkit.question.inferred_filter": "a question's beginning, see test_text_growth.py",
    "ragkit.store.connection.connect": "what the database server says",
    "ragkit.store.vectors.build": "names of tables",
    "ragkit.cli.words": "a message of at most _MAX_MESSAGE_CHARS, between escaped texts",
    "ragkit_eval.tasks.extract": "any: see test_extract_growth.py",
    "ragkit_eval.tasks.rendering": "options of a task's questions",
    "ragkit_eval.tasks.scorers.program": "any: the name of a function is all that is sought",
    "ragkit_eval.tasks.task": "names of files",
    "ragkit_eval.tasks.template": "a task's own fields, by its own pattern",
    "ragkit_eval.testset.blanks": "any: the escaped answer is all that is sought",
    "ragkit_eval.testset.definitions": "any: the escaped term, and so many marks around it",
    "ragkit_eval.testset.wording": "any: the escaped word is all that is sought",
    "ragkit_ingest.clean.kinds.iban": "any: as many characters as a country's number has",
    "ragkit_ingest.clean.unicode": "any: so many marks in a row",
    "ragkit_ingest.parse.code.patterns": "a line that may define something",
    "ragkit_ingest.parse.mail.outlook": "names within the file",
    "ragkit_models.serve.log": "lines of the model server's log",
    "ragkit_serve.page.markdown": "any: an escaped text, and one class of characters",
    "ragkit_serve.page.suggested_en": "any: the escaped word is all that is sought",
    "ragkit_tune.adopt.toml_line": "any: the escaped key is all that is sought",
}


@pytest.fixture(scope="module")
def known() -> Inventory:
    return inventory()


def test_the_patterns_of_the_code_are_collected(known: Inventory) -> None:
    places = {pattern.place for pattern in known.patterns}
    assert len(places) > 350
    assert "ragkit.text.sentences._END" in places  # a global
    assert "ragkit_ingest.clean.kinds.phone._NATIONAL" in places  # made of parts
    assert "ragkit.model.failures: '[0-9]{1,9}(\\\\.[0-9]+)?'" in places  # within a function


def test_a_pattern_made_at_run_time_is_named_here(known: Inventory) -> None:
    assert {call.partition(":")[0] for call in known.unknown} == set(MADE)


@pytest.mark.long
def test_time_grows_with_the_text_and_no_faster(known: Inventory) -> None:
    slow = {
        pattern.place: found
        for pattern in known.patterns
        if not pattern.place.startswith(tuple(TRUSTED)) and (found := attack_on(pattern))
    }
    assert slow == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("written", "uses"),
    [
        (r"\s*\n", "finditer"),
        (r"\.+(?=\s)", "search"),
        (r"(?:a|a)*b", "match"),
        (r"(\w+\s?)*$", "fullmatch"),
        (r"x\s*\s*$", "search"),
        (r"<!--.*?-->", "sub"),
        (r"\[[^\]]*\]", "split"),
    ],
)
def test_the_attacks_notice_a_bad_pattern(written: str, uses: str) -> None:
    assert attack_on(Pattern(re.compile(written), "here", frozenset((uses,))))


@pytest.mark.parametrize("written", [r"(?<!\s)\s*+\n", r"\.++", r"a{1,300}b", r"[^\W_]+"])
def test_the_attacks_pass_a_good_pattern(written: str) -> None:
    assert not attack_on(Pattern(re.compile(written), "here", frozenset(("finditer",))))


def attack_on(pattern: Pattern) -> str:
    """Return how a pattern can be made slow, "" when it cannot."""
    most = min(
        (size for place, size in MOST.items() if pattern.place.startswith(place)), default=SIZE
    )
    for attack in attacks(pattern.compiled):
        for use in pattern.uses:
            if size := first_slow(partial(_use, pattern.compiled, use, attack), most):
                return f"{use} of {size} characters of {attack}"
    return ""


def _use(pattern: re.Pattern[Any], use: str, attack: Attack, size: int) -> None:
    text = attack.text(size)
    subject = text.encode() if isinstance(pattern.pattern, bytes) else text
    if use in ("search", "match", "fullmatch"):
        getattr(pattern, use)(subject)
    else:  # `sub`, `split` and the like look at the same places
        deque(pattern.finditer(subject), 0)
