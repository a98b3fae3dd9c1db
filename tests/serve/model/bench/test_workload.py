"""What is asked: the same for a seed, shaped like questions over documents, or one's own."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit.types import Message
from ragkit_serve.model.bench.levels import parse_levels, parse_rates
from ragkit_serve.model.bench.text import TOKENS_PER_CHAR
from ragkit_serve.model.bench.workload import (
    Prompt,
    Shape,
    Workload,
    body,
    make_prompts,
    marked,
    read_prompts,
    warm_ups,
)

SHAPE = Shape(requests=16, prefix_tokens=100, prompt_tokens=600, questions=4)


def words(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def test_the_same_shape_makes_the_same_prompts_and_another_seed_others() -> None:
    assert make_prompts(SHAPE) == make_prompts(SHAPE)
    assert {words(one) for one in make_prompts(SHAPE)}.isdisjoint(
        words(one) for one in make_prompts(replace(SHAPE, seed=1))
    )
    # Fixed for good: files of two versions can only be compared while this holds.
    assert Workload(prompts=make_prompts(SHAPE)).hash[:16] == "0cf7b2452ef96c9b"


def test_a_group_shares_everything_but_the_question() -> None:
    prompts = make_prompts(SHAPE)
    assert Counter(one.group for one in prompts) == {0: 4, 1: 4, 2: 4, 3: 4}
    assert [one.group for one in prompts] != sorted(one.group for one in prompts)
    for group in range(4):
        users = [one.messages[1].content for one in prompts if one.group == group]
        assert len(set(users)) == 4
        assert len({user.rpartition("\n\n")[0] for user in users}) == 1
        assert users[0].count("<source id=") == 5
    assert len({one.messages[0] for one in prompts}) == 2  # a system prompt in each language


@pytest.mark.parametrize(("language", "group"), [("en", 0), ("zh", 1)])
def test_prompts_are_about_as_long_as_wanted(language: str, group: int) -> None:
    prompts = [one for one in make_prompts(SHAPE) if one.group == group]
    rate = 1 / TOKENS_PER_CHAR["en" if language == "en" else "zh"]
    for prompt in prompts:
        chinese = sum("\u4e00" <= c <= "\u9fff" for c in words(prompt))
        assert (chinese > len(words(prompt)) / 2) == (language == "zh")
        assert 0.9 < len(words(prompt)) / rate / 600 < 1.5
        assert 0.9 < len(prompt.messages[0].content) / rate / 100 < 1.5


def test_the_hash_tells_prompts_limits_and_endings_apart() -> None:
    prompts = make_prompts(SHAPE)
    work = Workload(prompts=prompts, answer_tokens=8)
    others = [
        Workload(prompts=prompts, answer_tokens=9),
        Workload(prompts=prompts, answer_tokens=8, ignore_eos=True),
        Workload(prompts=prompts[1:], answer_tokens=8),
    ]
    assert len({one.hash for one in (work, *others)}) == 4
    assert work.hash == Workload(prompts=make_prompts(SHAPE), answer_tokens=8).hash


def test_marks_and_warm_ups_share_no_passages_with_what_is_measured() -> None:
    prompts = make_prompts(SHAPE)
    assert words(marked(prompts[0], "aa")).startswith("[aa]\n" + words(prompts[0])[:50])
    warm = warm_ups(prompts, 20)
    assert len(warm) == 20
    assert warm[0].messages[0] == prompts[0].messages[0]
    assert warm[0].messages[1].content.startswith("[warm-up]\n<source")


def test_a_request_is_greedy_and_streamed_with_its_usage() -> None:
    work = Workload(prompts=(Prompt((Message("user", "年假"),)),), answer_tokens=8, ignore_eos=True)
    assert body(work.prompts[0], work, "m") == {
        "model": "m",
        "messages": [{"role": "user", "content": "年假"}],
        "temperature": 0.0,
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    }


def test_ones_own_prompts(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    chat = {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "问"}]}
    lines = [json.dumps({"prompt": "P"}), "", json.dumps(chat), json.dumps({"prompt": "Q"})]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert [one.messages for one in read_prompts(file, 2)] == [
        (Message("user", "P"),),
        (Message("system", "S"), Message("user", "问")),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no prompts"),
        ("{", "line 1"),
        ("[]", "line 1"),
        ('{"prompt": "a"}\n{"prompt": 1}', "line 2"),
        ('{"messages": []}', "line 1"),
        ('{"messages": [{"role": "tool", "content": "x"}]}', "line 1"),
        ("[" * 10**5, "line 1"),
    ],
)
def test_a_file_of_something_else_is_refused_by_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_prompts(file, 5)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        read_prompts(tmp_path / "none.jsonl", 1)
    (tmp_path / "latin").write_bytes(b'{"prompt": "\xe9"}')
    with pytest.raises(UsageError, match="UTF-8"):
        read_prompts(tmp_path / "latin", 1)


def test_a_prompt_shorter_than_its_prefix_is_refused() -> None:
    with pytest.raises(UsageError, match="raise --prompt-tokens"):
        make_prompts(Shape(prefix_tokens=100, prompt_tokens=100))


def test_levels() -> None:
    assert [one.concurrency for one in parse_levels("4, 1,4")] == [4, 1]
    assert [one.rate_per_s for one in parse_rates("0.5,2")] == [0.5, 2.0]
    for wrong in ("", "0", "1,,2", "-1", "1.5", "2000", "9" * 5000, "٣", "1;2"):
        with pytest.raises(UsageError, match="--concurrency"):
            parse_levels(wrong)
    for wrong in ("", "0", "nan", "inf", "x", "-1"):
        with pytest.raises(UsageError, match="--rate"):
            parse_rates(wrong)
