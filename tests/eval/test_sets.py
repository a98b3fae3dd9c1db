"""Readers of labelled sets, on small files of each published shape."""

import json
from pathlib import Path

from ragkit_eval.sets import Excerpt, LabelledSet, Question, beir, clapnq, excerpts, squad


def write_lines(path: Path, *values: object) -> None:
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")


def test_beir_joins_titles_keeps_grades_and_drops_empty_documents(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "corpus.jsonl",
        {"_id": "1", "title": "Wings", "text": "They lift."},
        {"_id": "2", "title": "Tails", "text": "Tails steer."},
        {"_id": "3", "title": "", "text": ""},
    )
    write_lines(tmp_path / "queries.jsonl", {"_id": "q", "text": "what lifts"})
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t2\nq\t2\t0\n")
    assert beir(tmp_path, "s") == LabelledSet(
        "s",
        {"1": "Wings\n\nThey lift.", "2": "Tails steer."},
        (Question("q", "what lifts", relevant={"1": 2, "2": 0}),),
    )


def test_squad_keeps_each_different_answer_once(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    answers = [{"text": "光荣", "answer_start": 0}, {"text": "光荣", "answer_start": 9}]
    paragraph = {
        "id": "P",
        "context": "光荣开发。",
        "qas": [{"id": "Q", "question": "谁？", "answers": answers}],
    }
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
    assert squad(path, "s") == LabelledSet(
        "s", {"P": "光荣开发。"}, (Question("Q", "谁？", relevant={"P": 1}, answers=("光荣",)),)
    )


def test_clapnq_marks_sentences_of_the_answerable_only(tmp_path: Path) -> None:
    passage = [{"title": "T", "text": "One . Two ."}]
    write_lines(
        tmp_path / "set.jsonl",
        {
            "id": "1",
            "input": "q1",
            "passages": passage,
            "output": [{"selected_sentences": ["Two ."]}],
        },
        {"id": "2", "input": "q2", "passages": passage, "output": [{"answer": ""}]},
    )
    answerable, unanswerable = clapnq(tmp_path / "set.jsonl", "s").questions
    assert answerable.answers == ("Two .",)
    assert unanswerable.answers == ()


def test_excerpts_are_places_in_their_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "wiki.md").write_text("0123456789", encoding="utf-8")
    (tmp_path / "questions_df.csv").write_text(
        'question,references,corpus_id\nwhat?,"[{""content"": ""34"", ""start_index"": 3,'
        ' ""end_index"": 5}]",wiki\n',
        encoding="utf-8",
    )
    (question,) = excerpts(tmp_path, "s").questions
    assert question.excerpts == (Excerpt("wiki", 3, 5),)
