"""Readers of labelled sets, on small files of each published shape."""

import json
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.sets import (
    Excerpt,
    LabelledSet,
    Question,
    beir,
    clapnq,
    corpus_of,
    excerpts,
    joined,
    ragkit_lines,
    read_set,
    squad,
    write_set,
)


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
    answers = [{"text": "光荣", "answer_start": 0}, {"text": "光荣", "answer_start": 5}]
    paragraph = {
        "id": "P",
        "context": "光荣开发，光荣。",
        "qas": [{"id": "Q", "question": "谁？", "answers": answers}],
    }
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
    assert squad(path, "s") == LabelledSet(
        "s",
        {"P": "光荣开发，光荣。"},
        (Question("Q", "谁？", relevant={"P": 1}, answers=("光荣",), answerable=True),),
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
    assert question.excerpts == (Excerpt("wiki", 3, 5, "34"),)


LINES = (
    {
        "id": "7",
        "question": "When was it opened?",
        "answers": ["1932", "in 1932"],
        "relevant": {"bridge.txt": 1},
        "spans": [{"document": "bridge.txt", "start": 3, "end": 7, "text": "1932"}],
        "group": "bridges",
        "tags": {"language": "en"},
        "references": ["It was opened in 1932."],
        "answerable": True,
    },
    {"id": "8", "question": "谁？", "answerable": False},
)


def test_own_lines_are_read_and_written_back(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", *LINES)
    labelled = ragkit_lines(tmp_path / "a.jsonl", "a")
    assert labelled.questions == (
        Question(
            "7",
            "When was it opened?",
            relevant={"bridge.txt": 1},
            answers=("1932", "in 1932"),
            excerpts=(Excerpt("bridge.txt", 3, 7, "1932"),),
            references=("It was opened in 1932.",),
            answerable=True,
            group="bridges",
            tags={"language": "en"},
        ),
        Question("8", "谁？", answerable=False),
    )
    write_set(labelled, tmp_path / "b.jsonl")
    again = read_set(tmp_path / "b.jsonl")
    assert again.questions == labelled.questions
    assert again.data_hash == labelled.data_hash
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]


def test_answers_tell_whether_it_is_answerable_and_nothing_tells_nothing(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "a.jsonl",
        {"question": "a", "answers": ["x"]},
        {"question": "b", "answers": []},
        {"question": "c"},
    )
    questions = ragkit_lines(tmp_path / "a.jsonl", "a").questions
    assert [question.answerable for question in questions] == [True, False, None]
    # The first 12 hexadecimal digits of `printf a | sha256sum`: the order of lines means nothing.
    assert questions[0].id == "ca978112ca1b"


def test_a_mark_at_the_beginning_and_odd_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('\ufeff{"question": "one\u2028line"}\r\n\r\n{"question": "two"}'.encode())
    assert [question.text for question in ragkit_lines(path, "a").questions] == [
        "one\u2028line",
        "two",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", ":2: not JSON: "),
        ("[1]", ":2: not a JSON object but [1]"),
        ('{"question": "b", "relevant": {"x": NaN}}', ":2: not JSON: NaN is not a JSON number"),
        ('{"id": "b"}', ":2: there is no 'question'"),
        ('{"questoin": "b"}', ":2: unknown field 'questoin': is 'question' meant?"),
        ('{"question": "b", "colour": 1}', ":2: unknown field 'colour': use one of id, question"),
        ('{"question": " "}', ":2: 'question' is blank"),
        ('{"question": 3}', ":2: 'question' must be a text, not 3"),
        ('{"question": "b", "answers": "x"}', ":2: 'answers' must be a list, not \"x\""),
        ('{"question": "b", "answers": [1]}', ":2: each of 'answers' must be a text, not 1"),
        ('{"question": "b", "answerable": "no"}', ":2: 'answerable' must be true or false"),
        ('{"question": "b", "answers": ["x"], "answerable": false}', ":2: it has answers and is"),
        ('{"question": "b", "relevant": {"x": true}}', ":2: the grade of 'x' must be a whole"),
        ('{"question": "b", "relevant": {"x": -1}}', ":2: the grade of 'x' is -1"),
        ('{"question": "b", "tags": {"x": 1}}', ":2: the tag 'x' must be a text, not 1"),
        ('{"question": "b", "spans": [3]}', ":2: not a JSON object but 3"),
        (
            '{"question": "b", "spans": [{"document": "d", "start": 7, "end": 3}]}',
            ":2: the span 7-3 of 'd' holds nothing",
        ),
        (
            '{"question": "b", "spans": [{"document": "d", "start": -1, "end": 3}]}',
            ":2: the span -1-3 of 'd' holds nothing",
        ),
        (
            '{"question": "b", "spans": [{"document": "d", "start": 1, "end": 3, "text": "x"}]}',
            ":2: the span 1-3 of 'd' is 2 characters long, its text 1",
        ),
        ('{"question": "b", "spans": [{"document": "d", "start": 1}]}', ":2: there is no 'end'"),
        ('{"id": "1", "question": "b"}', ":2: the id '1' is "),
        ('{"id": "", "question": "b"}', ":2: 'id' is empty: write one, or leave it out"),
        ('{"question": "b", "answers": ["x", " "]}', ":2: an answer is blank: write one, or []"),
        ('{"question": "b", "references": [""]}', ":2: an answer is blank: write one, or []"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"id": "1", "question": "a"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_set(path)
    assert str(raised.value).startswith(str(path) + said)
    assert "\n" not in str(raised.value)


def test_an_empty_set_and_one_that_is_not_there_are_errors(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("\n")
    with pytest.raises(UsageError, match=r"set\.jsonl: the set is empty"):
        read_set(tmp_path / "set.jsonl")
    with pytest.raises(NotFoundError, match=r"there is no labelled set '.*none\.jsonl'"):
        read_set(tmp_path / "none.jsonl")
    (tmp_path / "set.csv").write_text("a,b\n")
    with pytest.raises(UsageError, match=r"set\.csv is not a labelled set: use a folder"):
        read_set(tmp_path / "set.csv")


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_bytes(b'{"question": "a"}\n{"question": "\xff"}\n')
    with pytest.raises(UsageError, match=r"set\.jsonl:2: not UTF-8"):
        read_set(tmp_path / "set.jsonl")


def test_what_is_wrong_in_a_published_set_is_named(tmp_path: Path) -> None:
    squad_file = tmp_path / "set.json"
    squad_file.write_text('{"data": [{"paragraphs": [{"context": "x"}]}]}')
    with pytest.raises(
        UsageError, match=r"set\.json: data\[0\] paragraphs\[0\]: there is no 'qas'"
    ):
        read_set(squad_file)
    squad_file.write_text('{"data": [\n{x}]}')
    with pytest.raises(UsageError, match=r"set\.json:2: not JSON: "):
        read_set(squad_file)
    answer = {"text": "x", "answer_start": 7}
    paragraph = {"context": "x", "qas": [{"id": "1", "question": "q", "answers": [answer]}]}
    squad_file.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    with pytest.raises(UsageError, match=r"begins at 7, outside of its paragraph of 1 char"):
        read_set(squad_file)
    paragraph["qas"] = [{"id": None, "question": "q", "answers": []}]
    squad_file.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    with pytest.raises(UsageError, match=r"'id' must be a text or a whole number, not None"):
        read_set(squad_file)
    clapnq_file = tmp_path / "set.jsonl"
    write_lines(clapnq_file, {"id": "1", "input": "q", "passages": [], "output": []})
    with pytest.raises(UsageError, match=r"set\.jsonl:1: 0 passages"):
        read_set(clapnq_file)
    folder = tmp_path / "beir"
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", {"_id": "1", "text": "x"})
    write_lines(folder / "queries.jsonl", {"_id": "q", "text": "x"})
    with pytest.raises(NotFoundError, match=r"has no judgements"):
        read_set(folder)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\nq\t2\thigh\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:3: the score 'high' is no whole number"):
        read_set(folder)
    (folder / "qrels.tsv").write_text("q\t1\t1\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:1: there is no column 'query-id'"):
        read_set(folder)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\nq\t1\t0\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv:3: '1' is judged twice for the query 'q'"):
        read_set(folder)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nother\t1\t1\n")
    with pytest.raises(UsageError, match=r"name 1 queries that queries.jsonl has not, such as 'o"):
        read_set(folder)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    write_lines(folder / "corpus.jsonl", {"_id": "1", "text": "x"}, {"_id": "1", "text": "y"})
    with pytest.raises(UsageError, match=r"corpus\.jsonl:2: the document '1' is there twice"):
        read_set(folder)


def test_an_excerpt_must_stand_in_its_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "wiki.md").write_text("0123456789", encoding="utf-8")
    row = '"[{""content"": ""34"", ""start_index"": 8, ""end_index"": 12}]"'
    (tmp_path / "questions_df.csv").write_text(f"question,references,corpus_id\nq,{row},wiki\n")
    with pytest.raises(UsageError, match=r"questions_df\.csv:2: the span 8-12 of 'wiki' ends out"):
        read_set(tmp_path)


def test_the_cluster_is_the_group_or_the_one_document_or_the_question_itself() -> None:
    assert Question("1", "q", group="g", relevant={"d": 1}).cluster == "g"
    assert Question("1", "q", relevant={"d": 1, "e": 0}).cluster == "d"
    assert Question("1", "q", excerpts=(Excerpt("d", 0, 1),)).cluster == "d"
    assert Question("1", "q", relevant={"d": 1, "e": 1}).cluster == "1"
    assert Question("1", "q").cluster == "1"


def test_a_limit_draws_the_same_questions_whatever_their_order() -> None:
    questions = tuple(Question(str(n), f"q{n}") for n in range(20))
    drawn = LabelledSet("s", {}, questions).limited(5).questions
    turned = LabelledSet("s", {}, questions[::-1]).limited(5).questions
    assert drawn == turned[::-1]
    assert {q.id for q in LabelledSet("s", {}, questions).limited(3).questions} < {
        q.id for q in drawn
    }


def test_sets_are_joined_and_ids_kept_apart() -> None:
    one = LabelledSet("a", {"d": "x"}, (Question("1", "q"),))
    two = LabelledSet("b", {"e": "y"}, (Question("1", "r"),))
    both = joined([one, two])
    assert (both.name, both.documents) == ("a+b", {"d": "x", "e": "y"})
    assert [question.id for question in both.questions] == ["a/1", "b/1"]
    with pytest.raises(UsageError, match="another set has another document 'd'"):
        joined([one, LabelledSet("c", {"d": "z"}, two.questions)])


def test_the_documents_are_written_under_names_that_a_file_can_have(tmp_path: Path) -> None:
    documents = {"1": "one", "a/b": "two", "..": "three", "问": "四"}
    files = corpus_of(LabelledSet("s", documents, (Question("1", "q"),)), tmp_path)
    assert {name: file.read_text(encoding="utf-8") for name, file in files.items()} == documents
    assert len({file.parent for file in files.values()} | {tmp_path}) == 1
    assert (files["1"].name, files["问"].name) == ("1.txt", "问.txt")
    with pytest.raises(UsageError, match="the set s has no documents of its own"):
        corpus_of(LabelledSet("s", {}, ()), tmp_path)
