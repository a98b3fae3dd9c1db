"""What the worker makes of calibration samples, with a tokenizer that is easy to read."""

import ast
import json
import sys
from pathlib import Path

import pytest

from ragkit_models.quantize import worker


class Letters:
    """One token per character; a text begins with token 0, a templated chat brings its own."""

    chat_template: str | None = "there is one"

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids = [ord(letter) for letter in text]
        return {"input_ids": [0, *ids] if add_special_tokens and ids else ids}

    def apply_chat_template(self, messages: list[dict[str, str]], tokenize: bool) -> str:
        assert not tokenize
        return "".join(f"<{message['content']}>" for message in messages)


@pytest.fixture
def samples(tmp_path: Path) -> str:
    chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    rows = [{"text": "年假abc"}, {"messages": chat}, {"text": ""}]
    file = tmp_path / "samples.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(file)


def read(rows: list[list[int]]) -> list[str]:
    return ["".join("^" if token == 0 else chr(token) for token in row) for row in rows]


def test_samples_become_at_most_so_many_tokens(samples: str) -> None:
    assert read(worker._tokenised(Letters(), samples, 99)) == ["^年假abc", "<a><b>"]
    assert read(worker._tokenised(Letters(), samples, 4)) == ["^年假a", "<a><"]


def test_without_a_chat_template_messages_are_their_texts(samples: str) -> None:
    plain = Letters()
    plain.chat_template = None
    assert read(worker._tokenised(plain, samples, 99)) == ["^年假abc", "^a\n\nb"]


def test_the_worker_needs_nothing_but_the_environment_of_llm_compressor() -> None:
    assert worker.__file__ is not None
    tree = ast.parse(Path(worker.__file__).read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
    }
    assert imported - sys.stdlib_module_names == {"torch", "llmcompressor", "transformers"}
