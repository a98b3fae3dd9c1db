"""MMLU's prompts, byte for byte as published, and in the form of lm-evaluation-harness."""

import csv
import hashlib
import tracemalloc
from pathlib import Path

import pytest

from ragkit_eval.run.item import Likelihood, Response
from ragkit_eval.tasks.hashing import prompt_hash
from ragkit_eval.tasks.registry import open_task

FIRST = """The following are multiple choice questions (with answers) about  anatomy.

What is the embryological origin of the hyoid bone?
A. The first pharyngeal arch
B. The first and second pharyngeal arches
C. The second pharyngeal arch
D. The second and third pharyngeal arches
Answer: D

Which of these branches of the trigeminal nerve contain somatic motor processes?
A. The supraorbital nerve
B. The infraorbital nerve
C. The mental nerve
D. None of the above
Answer: D

The pleura
A. have no sensory innervation.
B. are separated by a 2 mm space.
C. extend into the neck.
D. are composed of respiratory epithelium.
Answer: C

In Angle's Class II Div 2 occlusion there is
A. excess overbite of the upper lateral incisors.
B. negative overjet of the upper central incisors.
C. excess overjet of the upper lateral incisors.
D. excess overjet of the upper central incisors.
Answer: C

Which of the following is the body cavity that contains the pituitary gland?
A. Abdominal
B. Cranial
C. Pleural
D. Spinal
Answer: B

A lesion causing compression of the facial nerve at the stylomastoid foramen will cause ipsilateral
A. paralysis of the facial muscles.
B. paralysis of the facial muscles and loss of taste.
C. paralysis of the facial muscles, loss of taste and lacrimation.
D. paralysis of the facial muscles, loss of taste, lacrimation and decreased salivation.
Answer:"""


def test_the_first_prompt_of_a_subject_is_the_originals(published: Path) -> None:
    item = next(open_task("mmlu", data=published, groups=["anatomy"]).items())
    assert item.prompt == FIRST
    assert item.targets == ("A",)
    assert item.labels == ("A", "B", "C", "D")
    assert item.choices == ()
    assert item.group == "anatomy"


def test_lm_eval_has_one_space_and_a_stripped_question(published: Path) -> None:
    task = open_task("mmlu:lm-eval", data=published, groups=["anatomy"])
    item = next(task.items())
    assert task.method == "loglikelihood"
    assert item.prompt == FIRST.replace("about  anatomy", "about anatomy")
    assert item.choices == (" A", " B", " C", " D")
    letter = open_task("mmlu:lm-eval-letter", data=published, groups=["anatomy"])
    assert next(letter.items()).prompt == item.prompt
    assert letter.method == "letter"


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def _block(row: list[str], *, strip: bool) -> str:
    question = row[0].strip() if strip else row[0]
    return f"{question}\nA. {row[1]}\nB. {row[2]}\nC. {row[3]}\nD. {row[4]}\nAnswer:"


def _rebuilt(folder: Path, *, spaces: str, strip: bool) -> tuple[str, int]:
    """Hash all prompts, made by a second, simpler program after Hendrycks' evaluate.py."""
    digest, count = hashlib.sha256(), 0
    for test in sorted((folder / "test").glob("*_test.csv")):
        subject = test.name.removesuffix("_test.csv")
        head = (
            f"The following are multiple choice questions (with answers) about{spaces}"
            f"{subject.replace('_', ' ')}.\n\n"
        )
        for row in _rows(folder / "dev" / f"{subject}_dev.csv"):
            head += f"{_block(row, strip=strip)} {'ABCD'[int(row[5])]}\n\n"
        for row in _rows(test):
            digest.update((head + _block(row, strip=strip)).encode())
            count += 1
    return digest.hexdigest(), count


@pytest.mark.parametrize(
    ("name", "spaces", "strip"), [("mmlu", "  ", False), ("mmlu:lm-eval-letter", " ", True)]
)
def test_all_prompts_are_those_of_a_second_program(
    published: Path, name: str, spaces: str, strip: bool
) -> None:
    digest, count = hashlib.sha256(), 0
    ids, groups = set(), set()
    for item in open_task(name, data=published).items():
        digest.update(item.prompt.encode())
        ids.add(item.id)
        groups.add(item.group)
        count += 1
    assert (digest.hexdigest(), count) == _rebuilt(published / "mmlu", spaces=spaces, strip=strip)
    assert (count, len(ids), len(groups)) == (14_042, 14_042, 57)


def test_reading_prompts_takes_the_memory_of_few(published: Path) -> None:
    task = open_task("mmlu", data=published, groups=["nutrition", "virology"])
    assert prompt_hash(task.items())[1] == 472  # what is loaded once is not counted
    tracemalloc.start()
    prompt_hash(task.items())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000  # the prompts are 970,000 characters


def test_a_file_as_first_published_has_letters_and_no_header(tmp_path: Path) -> None:
    row = "Which is first?,one,two,three,four,B\n"
    for name, rows in (("dev", row * 5), ("test", row)):
        (tmp_path / "mmlu" / name).mkdir(parents=True)
        (tmp_path / "mmlu" / name / f"odd_{name}.csv").write_text(rows)
    (item,) = open_task("mmlu", data=tmp_path).items()
    assert item.targets == ("B",)
    assert item.prompt.count("\nAnswer: B\n\n") == 5
    assert item.prompt.endswith("D. four\nAnswer:")


def test_scored_by_likelihood(published: Path) -> None:
    task = open_task("mmlu:loglikelihood", data=published, groups=["anatomy"])
    item = next(task.items())
    logprobs = (-1.0, -2.0, -3.0, -4.0)
    response = Response(likelihoods=tuple(Likelihood(value, 1, False) for value in logprobs))
    assert task.score(item, response).scores == {"acc": 1.0, "acc_norm": 1.0, "acc_bytes": 1.0}
