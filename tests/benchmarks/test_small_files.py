"""The files of a few sentences hold the answers that their questions name."""

import pytest

from benchmarks.everyday_set import LANGUAGES
from benchmarks.small_files import small_files


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_file_holds_its_answers(language: str) -> None:
    files = list(small_files(language))
    assert len({file.name for file in files}) == len(files) == 48
    for file in files:
        answers = [asked.answers for asked in file.questions]
        assert sum(map(len, answers)) == len(answers) / 2
        assert all(answer in file.text for some in answers for answer in some)
