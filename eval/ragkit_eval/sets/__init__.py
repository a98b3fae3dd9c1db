"""Read and write labelled sets: questions with labels of their answers."""

from ragkit_eval.sets.lines import ragkit_lines, write_set
from ragkit_eval.sets.published import beir, clapnq, excerpts, squad
from ragkit_eval.sets.reading import corpus_of, file_stem, joined, read_set
from ragkit_eval.sets.values import Excerpt, LabelledSet, Question

__all__ = [
    "Excerpt",
    "LabelledSet",
    "Question",
    "beir",
    "clapnq",
    "corpus_of",
    "excerpts",
    "file_stem",
    "joined",
    "ragkit_lines",
    "read_set",
    "squad",
    "write_set",
]
