"""Labelled sets: questions with what is known of their answers, read from files and written.

Knows nothing of any system that is asked them.
"""

from ragkit_eval.sets.lines import own, write_set
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
    "own",
    "read_set",
    "squad",
    "write_set",
]
