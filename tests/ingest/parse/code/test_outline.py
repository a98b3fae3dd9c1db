"""Source code: the source is the text, definitions are its headings, with and without grammars."""

import importlib.util
import time

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.parse.code import outline, tree
from ragkit_ingest.parse.formats import MODULES

SUFFIXES = sorted(suffix for suffix, module in MODULES.items() if module.startswith("code."))

PYTHON = '''\
"""A module."""

import os

# Says hello.
@cached
def hello(name: str) -> str:
    return f"hello {name}"

LIMIT = 3

class Store(Base):
    """A store."""

    def put(self, key: str) -> None:
        if key:
            self.rows[key] = 1

if __name__ == "__main__":
    hello("you")
'''


@pytest.fixture
def every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into short definitions too."""
    monkeypatch.setattr(outline, "_WHOLE_CHARS", 0)


@pytest.fixture
def no_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_language", lambda module, function: None)


def parse(source: str, suffix: str) -> ParsedText:
    return parse_bytes(source.encode(), suffix)


def headings(parsed: ParsedText) -> list[tuple[int, str]]:
    return [
        (block.level, parsed.text[block.start : block.end])
        for block in parsed.blocks
        if block.kind == "heading"
    ]


def code(parsed: ParsedText) -> list[str]:
    return [parsed.text[b.start : b.end] for b in parsed.blocks if b.kind == "code"]


@pytest.mark.usefixtures("every_level")
def test_python_by_its_own_syntax_tree() -> None:
    parsed = parse(PYTHON, ".py")
    assert parsed.text == PYTHON
    assert headings(parsed) == [
        (1, "# Says hello.\n@cached"),
        (1, "def hello"),
        (1, "LIMIT = 3"),
        (1, "class Store"),
        (2, "def put"),
        (1, 'if __name__ == "__main__":'),
    ]
    assert code(parsed) == [
        '"""A module."""',
        "import os",
        '    return f"hello {name}"',
        '    """A store."""',
        "        if key:\n            self.rows[key] = 1",
        '    hello("you")',
    ]


@pytest.mark.usefixtures("every_level")
def test_python_with_a_mistake_is_read_by_its_lines() -> None:
    parsed = parse(PYTHON + "\nprint 'Python 2'\n", ".py")
    assert [heading for heading in headings(parsed) if heading[1].startswith(("def", "class"))] == [
        (1, "def hello"),
        (1, "class Store"),
        (2, "def put"),
    ]


def test_a_class_that_fits_a_chunk_is_one_block() -> None:
    parsed = parse("class A:\n    x = 1\n\n    def f(self):\n        return 1\n", ".py")
    assert headings(parsed) == [(1, "class A")]
    assert code(parsed) == ["    x = 1\n\n    def f(self):\n        return 1"]


def test_a_long_body_falls_apart_between_its_outermost_statements() -> None:
    step = "    for x in y:\n        a(x)\n\n        b(x)\n"
    parsed = parse("def long():\n" + "\n".join([step] * 30), ".py")
    assert code(parsed) == [step.rstrip("\n")] * 30


JAVA = """\
package org.example;

/**
 * Stores things.
 */
@Service
public class Store extends Base {
    private int size;

    /** Puts. */
    @Override
    public void put(String key) throws IOException {
        size++;
    }
}
"""
TYPESCRIPT = """\
import x from "y";

// Adds.
export function add(a: number): number {
  return a + 1;
}

export const load = async (path: string) => {
  await x(path);
};

export default class Store {
  async put(key: string): Promise<void> {
    add(1);
  }
}
"""
CPP = """\
#include <map>

namespace fog {

// A store.
template <typename T>
class Store {
public:
    int put(const std::string& key) {
        return 1;
    }
};

}  // namespace fog

static int
main(int argc, char **argv)
{
    struct foo *f;
    return 0;
}
"""
GO = """\
package main

// Store keeps.
type Store struct {
\ta int
}

// Put puts.
func (s *Store) Put(key string) error {
\treturn nil
}
"""
RUST = """\
use std::fmt;

/// A store.
#[derive(Debug)]
pub struct Store<T> {
    x: T,
}

impl<T> fmt::Display for Store<T> {
    fn fmt(&self) -> fmt::Result {
        Ok(())
    }
}
"""
RUBY = """\
# Fog.
module Fog
  class Store < Base
    # Puts.
    def put(key)
      x if key
    end
  end
end
"""
GRAMMARS = {
    ".java": (
        JAVA,
        [
            (1, "/**\n * Stores things.\n */\n@Service"),
            (1, "public class Store"),
            (2, "/** Puts. */\n    @Override"),
            (2, "public void put"),
        ],
    ),
    ".ts": (
        TYPESCRIPT,
        [
            (1, "// Adds."),
            (1, "export function add"),
            (1, "export const load = async (path: string) =>"),
            (1, "export default class Store"),
            (2, "async put"),
        ],
    ),
    ".cpp": (
        CPP,
        [
            (1, "namespace fog"),
            (2, "// A store.\ntemplate <typename T>"),
            (2, "class Store"),
            (3, "int put"),
            (1, "static int"),
            (1, "main"),
        ],
    ),
    ".go": (
        GO,
        [
            (1, "// Store keeps."),
            (1, "type Store struct"),
            (1, "// Put puts."),
            (1, "func (s *Store) Put"),
        ],
    ),
    ".rs": (
        RUST,
        [
            (1, "/// A store.\n#[derive(Debug)]"),
            (1, "pub struct Store"),
            (1, "impl<T> fmt::Display for Store<T>"),
            (2, "fn fmt"),
        ],
    ),
    ".rb": (
        RUBY,
        [
            (1, "# Fog."),
            (1, "module Fog"),
            (2, "class Store"),
            (3, "# Puts."),
            (3, "def put"),
        ],
    ),
}
NEEDED = {
    ".java": "java",
    ".ts": "typescript",
    ".cpp": "cpp",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
}


@pytest.mark.usefixtures("every_level")
@pytest.mark.parametrize("suffix", sorted(GRAMMARS))
def test_definitions_by_grammar(suffix: str) -> None:
    if importlib.util.find_spec(f"tree_sitter_{NEEDED[suffix]}") is None:
        pytest.skip("no grammar is installed: pip install 'ragkit[code]'")
    source, expected = GRAMMARS[suffix]
    parsed = parse(source, suffix)
    assert parsed.text == source
    assert headings(parsed) == expected


# What the lines alone do not tell: where a namespace that is not indented ends, and a name whose
# type stands on the line above.
BY_LINES = {
    ".ts": [*GRAMMARS[".ts"][1][:2], (1, "export const load"), *GRAMMARS[".ts"][1][3:]],
    ".go": [(1, "// Store keeps."), (1, "type Store"), *GRAMMARS[".go"][1][2:]],
    ".cpp": [
        (1, "namespace fog"),
        (1, "// A store.\ntemplate <typename T>"),
        (1, "class Store"),
        (2, "int put"),
        (1, "}  // namespace fog"),
    ],
}


@pytest.mark.usefixtures("every_level", "no_grammars")
@pytest.mark.parametrize("suffix", sorted(GRAMMARS))
def test_definitions_by_lines(suffix: str) -> None:
    source, expected = GRAMMARS[suffix]
    assert headings(parse(source, suffix)) == BY_LINES.get(suffix, expected)


@pytest.mark.usefixtures("every_level")
@pytest.mark.parametrize(
    ("suffix", "source", "expected"),
    [
        (
            ".sql",
            "-- Parts.\nCREATE TABLE IF NOT EXISTS parts (\n  id bigint\n);\n"
            "create unique index i on parts (id);\nINSERT INTO parts VALUES (1);\n",
            ["-- Parts.", "CREATE TABLE IF NOT EXISTS parts", "create unique index i"],
        ),
        (
            ".toml",
            "a = 1\n\n# Server.\n[server]\nport = 1\n\n[[client]]\nx = [1, 2]\n",
            ["# Server.", "[server]", "[[client]]"],
        ),
        (
            ".yaml",
            'version: "3"\nservices:\n  web:\n    ports:\n    - 80\nlist:\n- a\n',
            ["services", "web", "ports", "list"],
        ),
        (
            ".css",
            "body, html {\n  margin: 0;\n}\n@media (max-width: 3px) {\n  .a > b { top: 0; }\n}\n",
            ["body, html", "@media (max-width: 3px)", ".a > b"],
        ),
        (".r", "# Adds.\nadd <- function(a) {\n  a + 1\n}\n", ["# Adds.", "add"]),
        (".jl", "function add(a)\n    a + 1\nend\n", ["function add"]),
        (".sh", "set -e\nsay() {\n  echo x\n}\n", ["say"]),
    ],
)
def test_other_languages(suffix: str, source: str, expected: list[str]) -> None:
    parsed = parse(source, suffix)
    assert parsed.text == source
    assert [text.removesuffix("()") for _, text in headings(parsed)] == expected


def test_offsets_hold_beyond_ascii() -> None:
    source = "// 存储 🙂\nfunction 存(键) {\n  return 键;\n}\n"
    assert headings(parse(source, ".js")) == [(1, "// 存储 🙂"), (1, "function 存")]


def test_a_source_in_another_encoding_is_read() -> None:
    parsed = parse_bytes(
        "# 请妥善保管发票和合同\r\ndef f():\r\n    pass\r\n".encode("gb18030"), ".py"
    )
    assert parsed.text == "# 请妥善保管发票和合同\ndef f():\n    pass\n"
    assert headings(parsed) == [(1, "# 请妥善保管发票和合同"), (1, "def f")]


HOSTILE = {
    "open brackets": "(" * 200_000,
    "nested calls": "f(" * 100_000 + ")" * 100_000,
    "nested blocks": "{" * 200_000,
    "nested functions": "function a(){" * 20_000,
    "classes": "class A { " * 20_000,
    "operators": "a<" * 100_000,
    "signs": "-" * 200_000,
    "quotes": '"' * 200_000,
    "definitions": "def f():\n" * 20_000,
    "deep indentation": "".join(" " * (i % 500) + "def f(x):\n" for i in range(2000)),
    "comments": "/* x */\n" * 30_000,
    "one comment": "/*" * 100_000,
    "keys": "".join(" " * i + "k:\n" for i in range(500)),
    "modifiers": "public static " * 20_000,
}


@pytest.mark.parametrize("suffix", [".py", ".js", ".java", ".cpp", ".rs", ".rb", ".sql", ".yaml"])
def test_hostile_sources_take_linear_time(suffix: str) -> None:
    for name, source in HOSTILE.items():
        started = time.process_time()
        parsed = parse(source, suffix)
        assert parsed.text == source, name
        done = 0
        for block in parsed.blocks:
            assert done <= block.start < block.end <= len(source), name
            done = block.end
        assert time.process_time() - started < 5, name  # quadratic time would be minutes


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_suffix_takes_anything_that_is_text(suffix: str) -> None:
    source = "Just prose, no code at all.\n\nA second paragraph; with (brackets} and \"quotes'.\n"
    parsed = parse(source, suffix)
    assert parsed.text == source
    assert parsed.blocks
