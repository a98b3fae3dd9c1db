"""reStructuredText, AsciiDoc and Org: structure kept, no file read, nothing multiplied."""

from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.run.titles import only_heading


def parse(text: str, suffix: str) -> ParsedText:
    return parse_bytes(text.encode(), suffix)


def kinds(parsed: ParsedText) -> str:
    return " ".join(block.kind for block in parsed.blocks)


RST = """
Handbook
========
:Author: Ann Lee
:Date: 2026-02-03

.. a comment

Intro with *emph*, ``code``, |sub|, :ref:`here <there>` and a note [1]_.

.. |sub| replace:: the thing

Part
----
- a

  more
- b

  1. x
  2. y

term
    definition here

.. versionadded:: 3.5
   It came.

.. toctree::
   :maxdepth: 2

   one

.. code-block:: python
   :linenos:

   def f():
       return 1

Sub
~~~
+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+

.. py:function:: foo(bar)

   Does foo.

.. [1] A note here.

.. image:: x.png
   :alt: picture of y
"""


def test_rst() -> None:
    parsed = parse(RST, ".rst")
    assert parsed.text == (
        "# Handbook\n\nAuthor: Ann Lee\n\nDate: 2026-02-03\n\n"
        "Intro with emph, code, the thing, here and a note [1].\n\n## Part\n\n"
        "- a\n  more\n- b\n  1. x\n  2. y\n\nterm\n\ndefinition here\n\n3.5 It came.\n\n"
        "```\ndef f():\n    return 1\n```\n\n### Sub\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n"
        "foo(bar)\n\nDoes foo.\n\n[1] A note here.\n\npicture of y\n"
    )
    assert (only_heading(parsed, ".rst"), parsed.notes) == ("Handbook", {})
    assert parsed.metadata == {"author": "Ann Lee", "created": "2026-02-03"}
    assert kinds(parsed) == (
        "heading paragraph paragraph paragraph heading list paragraph paragraph paragraph code"
        " heading table paragraph paragraph paragraph paragraph"
    )


def test_rst_reads_no_file(tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("sang", encoding="utf-8")
    parsed = parse(
        f"Before.\n\n.. include:: {canary}\n\n.. raw:: html\n   :file: {canary}\n\n"
        f".. csv-table:: t\n   :file: {canary}\n\n.. literalinclude:: {canary}\n\nAfter.\n",
        ".rst",
    )
    assert "sang" not in parsed.text
    assert parsed.text.startswith("Before.\n")
    assert parsed.text.endswith("After.\n")
    assert parsed.notes == {"includes": 3}


def test_rst_that_multiplies_or_nests() -> None:
    laughs = "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(40))
    assert len(parse(f"{laughs}\nHa |a0|.\n", ".rst").text) < 1000
    deep = "".join("  " * n + "* x\n\n" for n in range(400))
    with pytest.raises(IngestError) as caught:
        parse(deep, ".rst")
    assert caught.value.reason == "lists or quotations nested too deeply"
    with pytest.raises(IngestError) as caught:
        parse("x" * 100_001, ".rst")
    assert caught.value.reason == "a line of more than 100000 characters"


def test_rst_that_is_broken_stays_readable() -> None:
    text = parse("Bad *emphasis and `role.\n\n+--+\n|x\n\nTitle\n===\n\n中文内容。\n", ".rst").text
    assert "Bad *emphasis and `role." in text
    assert "中文内容。" in text


ASCIIDOC = """= Lens care
Ann Lee <ann@example.org>; Bo Ek
v1.2, 2026-02-03: first
:product: Scope X
:toc:

// a comment
Use {product}, see <<storage,Storing>> or https://example.org[the site].
Same paragraph.

[[storage]]
== Storing

.A list
* one
** inner
* two
+
continued

//-
. first
. second

CPU:: fast
NOTE: Keep dry.

[source,python]
----
def f():
    return 1
----

|===
|A |B

|1
|2 a\\|b
2+|wide
|===

////
hidden
////
include::other.adoc[]

  literal text
"""


def test_asciidoc() -> None:
    parsed = parse(ASCIIDOC, ".adoc")
    assert parsed.text == (
        "# Lens care\n\nUse Scope X, see Storing or the site. Same paragraph.\n\n## Storing\n\n"
        "A list\n\n- one\n  - inner\n- two\n  continued\n1. first\n2. second\n\n"
        "CPU\n\nfast NOTE: Keep dry.\n\n```\ndef f():\n    return 1\n```\n\n"
        "| A | B |\n| - | - |\n| 1 | 2 a\\|b |\n| wide | wide |\n\n```\nliteral text\n```\n"
    )
    assert parsed.title == "Lens care"
    assert parsed.metadata == {"author": "Ann Lee, Bo Ek", "created": "2026-02-03"}
    assert parsed.notes == {"includes": 1}


def test_asciidoc_tables() -> None:
    text = '[cols="1,2*"]\n|===\n|a|b|c\n.2+|x|1\n|2\n|3|4\n3*|z\n|===\n'
    assert parse(text, ".asciidoc").text == (
        "| a | b | c |\n| - | - | - |\n| x | 1 | 2 |\n| x | 3 | 4 |\n| z | z | z |\n"
    )
    assert parse(",===\na,b\n1,2\n,===\n", ".adoc").text == "| a | b |\n| - | - |\n| 1 | 2 |\n"


def test_asciidoc_does_not_multiply() -> None:
    attributes = ":a: " + "x" * 1000 + "\n\n" + "{a}" * 100_000
    assert len(parse(attributes, ".adoc").text) < 2_000_000
    copies = '[cols="1"]\n|===\n' + "999*|" + "y" * 100_000 + "\n|===\n"
    assert len(parse(copies, ".adoc").text) < 2_000_000


ORG = """#+TITLE: Notes
#+AUTHOR: Ann
#+DATE: <2026-03-04 Wed>
# comment
Intro [[http://x.y][the link]]
goes on.

* TODO [#A] First :tag:work:
:PROPERTIES:
:ID: 1
:END:
SCHEDULED: <2026-05-01 Fri>
- a
  more
- [X] b
  1. x
  2) y

  after
- term :: def

| h | i |
|---+---|
| 1 | 2 |

#+BEGIN_SRC python
  def f():
      return 1
#+END_SRC
** Sub
: fixed
#+BEGIN_QUOTE
quoted
#+END_QUOTE
* COMMENT gone
gone
** deeper gone
* 最后
end #tag
"""


def test_org() -> None:
    parsed = parse(ORG, ".org")
    assert parsed.text == (
        "Intro the link\ngoes on.\n\n# TODO First\n\nSCHEDULED: <2026-05-01 Fri>\n\n"
        "- a\n  more\n- b\n  1. x\n  2. y\n  after\n- term: def\n\n"
        "| h | i |\n| - | - |\n| 1 | 2 |\n\n```\ndef f():\n    return 1\n```\n\n"
        "## Sub\n\n```\nfixed\n```\n\nquoted\n\n# 最后\n\nend #tag\n"
    )
    assert parsed.title == "Notes"
    assert parsed.metadata == {"author": "Ann", "created": "2026-03-04"}
    assert kinds(parsed) == (
        "paragraph heading paragraph list table code heading code paragraph heading paragraph"
    )


def test_org_blocks_that_never_end_lose_nothing_and_take_linear_time() -> None:
    drawers = ":a:\n#+begin_quote\ntext\n" * 20_000
    parsed = parse(drawers + "* Last\nend\n", ".org")
    assert parsed.text.count("text") == 20_000
    assert parsed.text.endswith("# Last\n\nend\n")


@pytest.mark.parametrize("suffix", [".rst", ".adoc", ".org"])
def test_chinese_encodings_and_binary_data(suffix: str) -> None:
    text = "显微镜的使用说明，请在使用前仔细阅读。"
    assert parse_bytes(text.encode("gb18030"), suffix).text == text + "\n"
    with pytest.raises(IngestError) as caught:
        parse_bytes(b"\x89PNG\r\n" + bytes(100), suffix)
    assert caught.value.reason == "binary, not text"
