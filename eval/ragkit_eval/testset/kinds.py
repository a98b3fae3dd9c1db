"""Define the kinds of made questions, and what each can show."""

from typing import Final, Literal

Kind = Literal[
    "table",
    "number",
    "definition",
    "heading",
    "cloze",
    "written",
    "other-thing",
    "other-property",
    "unknown-term",
]

SHOWS: Final[dict[Kind, str]] = {
    "table": "a cell of a table: are tables parsed, found and read row by row",
    "number": "how many, how long, when: is the fact found and given; most words are the source's",
    "definition": "what a term is: is the sentence that defines it found and given",
    "heading": "a section as a whole: is it found; no answer is expected, so any counts as right",
    "cloze": "a sentence with a gap, in its own words: did something break; too easy to compare by",
    "written": "by the language model: kinder to answers of the same model",
    "other-thing": "a person, type or year that is nowhere, the rest is: the hardest to refuse",
    "other-property": "what is said of nobody and nothing: is it refused for someone who is named",
    "unknown-term": "a term that is nowhere: the easiest to refuse",
}
