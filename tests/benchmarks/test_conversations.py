"""How the benchmark of conversations counts, and that there are conversations enough to count."""

import pytest

from benchmarks.conversations import LANGUAGES, TYPES, Outcome, Talk, talks

QUESTION = "How much is the rent?"


@pytest.mark.parametrize(
    ("type", "query", "answer", "refused", "searched", "treated"),
    [
        ("complete", QUESTION, "It is 985\npounds.", False, True, True),
        ("complete", QUESTION, "It is due in May.", False, True, False),
        ("complete", f"{QUESTION} (lease)", "It is 985 pounds.", False, False, False),
        ("change", QUESTION, "Not here, nor 985 pounds.", True, True, False),
        ("follow-up", QUESTION, "It is 985 pounds.", False, False, False),
        ("follow-up", f"{QUESTION} (lease)", "It is 985 pounds.", False, True, True),
    ],
)
def test_searched_and_treated_rightly(
    type: str, query: str, answer: str, refused: bool, searched: bool, treated: bool
) -> None:
    talk = Talk("talk-en-01", ("When does the lease end?", QUESTION), type, ("985 pounds",))
    outcome = Outcome(talk, query, answer, refused)
    assert (outcome.searched_rightly, outcome.treated_rightly) == (searched, treated)


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_as_many_of_each_type_and_half_of_them_are_reported(language: str) -> None:
    held = talks(language)
    assert len(held) == 36
    for kind in TYPES:
        assert [one.type for one in held].count(kind) == 12
        assert [one.type for one in held if one.is_odd].count(kind) == 6
