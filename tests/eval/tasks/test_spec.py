"""Declarations of tasks: what is checked of them, and what their signature covers."""

from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.tasks.registry import find_spec, names
from ragkit_eval.tasks.spec import forms, read_spec

PLAIN = """method = "generate"
scorer = "first-line"
metric = "exact_match"
[data]
files = ["rows.jsonl"]
[fields]
question = "question"
target = "answer"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(PLAIN)
    return path


def test_the_defaults(path: Path) -> None:
    spec = read_spec(path)
    assert (spec.name, spec.version, spec.data.format) == ("own", "1", "jsonl")
    assert spec.prompt.question == "{{ question }}"
    assert (spec.sampling.max_tokens, spec.sampling.temperature) == (256, 0.0)
    assert (spec.sampling.stop, spec.sampling.chat) == ((), False)


@pytest.mark.parametrize(
    ("original", "replacement", "message"),
    [
        ('scorer = "first-line"\n', "", "the task lacks 'scorer': add it"),
        ('"generate"', '"genrate"', "no method 'genrate': did you mean generate"),
        ("[data]", "[data]\nfromat = 'csv'", "no key 'data.fromat': did you mean data.format"),
        ("[data]", "[data]\nformat = 'cvs'", "no data.format 'cvs': did you mean csv"),
        ("[fields]", "[fields]\nextra = 3", "fields.extra is 3: expected a table"),
        ('["rows.jsonl"]', '"rows.jsonl"', "data.files is 'rows.jsonl': expected a list"),
        ('["rows.jsonl"]', "[1]", "data.files is 1: expected a text"),
        ('["rows.jsonl"]', "[]", "data.files is empty: name the files that hold the questions"),
        ('"rows.jsonl"', '"../rows.jsonl"', "data.files leave the data folder: set data.folder"),
        (
            '"rows.jsonl"]',
            '"hf:x"]\nshots = "s"',
            "hf: is one dataset without shots: use local files",
        ),
        (
            "[data]",
            "[sampling]\nmax_tokens = 0\n[data]",
            "sampling.max_tokens is 0: it must be 1 or more",
        ),
        ("[data]", "[sampling]\nmax_tokens = true\n[data]", "expected a whole number"),
        ("[data]", "[sampling]\nchat = 1\n[data]", "sampling.chat is 1: expected true or false"),
        ('"generate"', '"letter"', "fields.options is missing: letter chooses among options"),
        ('"generate"', '"rag"', "no method 'rag'"),
        ('[data]\nfiles = ["rows.jsonl"]', "data = 3", "data is 3: expected a table"),
        ("[data]", "[form]\nx = 3\n[data]", "form.x is 3: make it a table, [form.x]"),
        ("[fields]", "[fields", "not the file of a task: "),
        ('"rows.jsonl"', '"**.jsonl"', "data.files has '**.jsonl': name files, such as"),
        ('"rows.jsonl"', '"."', "data.files has '.': name files, such as"),
        ('"rows.jsonl"', '""', "data.files has '': name files, such as"),
        ("[fields]", "columns = ['a']\n[fields]", "data.columns is for CSV and JSON files, and"),
        ("[fields]", "rows = 'a'\n[fields]", "data.rows is for JSON files, and data.format"),
        ("[fields]", "prefix = 'a'\n[fields]", "data.prefix and data.prefix_rule go together"),
        ("[fields]", "prefix_rule = 'direct'\n[fields]", "data.prefix and data.prefix_rule go"),
        (
            "[fields]",
            "prefix = 'a'\nprefix_rule = 'drect'\n[fields]",
            "no data.prefix_rule 'drect': did you mean direct",
        ),
        (
            "[fields]",
            "shots = 'a'\nprefix = 'a'\nprefix_rule = 'direct'\n[fields]",
            "data.prefix and data.shots both give the examples: keep one",
        ),
        (
            "[fields]",
            "shots = 'a'\nshot_count = 0\n[fields]",
            "data.shot_count is 0: it must be 1 or more",
        ),
        ("[data]", "edits = [['a', 'b']]\n[data]", "edits: each is a list of three"),
        ("[data]", "metrics = ['bleu']\n[data]", "metrics are for the scorer text, and this is"),
        ('"first-line"', '"choice"', "fields.options is missing: the scorer choice compares"),
        ('"first-line"', '"program"', "fields.extra lacks test and entry_point, which the scorer"),
        (
            PLAIN,
            PLAIN.replace('"generate"', '"loglikelihood"') + 'options = "o"\n',
            "the scorer first-line reads a text, and loglikelihood gives none: use choice",
        ),
        (
            "[data]",
            "[sampling]\ntemperature = nan\n[data]",
            "sampling.temperature is nan: it must be 0 or more",
        ),
        (
            "[data]",
            "[sampling]\ntemperature = -1\n[data]",
            "sampling.temperature is -1: it must be 0 or more",
        ),
        ("[data]", "[sampling]\nstop = ['']\n[data]", "sampling.stop has an empty text"),
        ("[fields]", "join = ['a']\n[fields]", "data.join and data.join_on go together: give both"),
        (
            "[fields]",
            "each = 'a'\nshots = 'b'\n[fields]",
            "data.each and data.shots exclude each other: keep one of them",
        ),
        ("[fields]", "[fields]\nturns = 'a'", "fields.turns needs a conversation: set method to"),
        ('"first-line"', '"bias"', "fields.options is missing: the scorer bias compares options"),
        (
            PLAIN,
            PLAIN.replace('"first-line"', '"mass"') + 'options = "o"\n',
            "the scorer mass needs the method loglikelihood, and this is generate",
        ),
        (
            PLAIN,
            PLAIN.replace('"first-line"', '"bias"') + 'options = "o"\n',
            "fields.extra lacks ambiguous and negative and unknown and biased_group, by which the",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    path: Path, original: str, replacement: str, message: str
) -> None:
    text = PLAIN.replace(original, replacement)
    assert text != PLAIN
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_spec(path, form="x" if "[form]" in replacement else "")
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_form_lays_its_values_over_the_files(path: Path) -> None:
    path.write_text(
        PLAIN + '[form.brief]\ntitle = "Brief"\n[form.brief.sampling]\nmax_tokens = 8\n'
    )
    assert forms(path) == ("brief",)
    plain, brief = read_spec(path), read_spec(path, form="brief")
    assert (brief.name, brief.title, brief.sampling.max_tokens) == ("own:brief", "Brief", 8)
    assert brief.data == plain.data
    assert brief.signature != plain.signature
    with pytest.raises(NotFoundError, match=r"own.toml: no form 'brif': did you mean brief"):
        read_spec(path, form="brif")


def test_the_signature_changes_with_prompts_and_scoring_alone(path: Path) -> None:
    first = read_spec(path).signature
    assert first.startswith("1.")
    for original, replacement in [
        ("[data]", 'title = "T"\nsource = "S"\n[data]'),
        ("[data]", '[data]\nfolder = "elsewhere"'),
    ]:
        path.write_text(PLAIN.replace(original, replacement))
        assert read_spec(path).signature == first
    changed = {first}
    for original, replacement in [
        ("[data]", 'version = "2"\n[data]'),
        ("[fields]", '[prompt]\nquestion = "{{ question }}?"\n[fields]'),
        ("first-line", "said-answer"),
        ("[data]", "[sampling]\nmax_tokens = 9\n[data]"),
        ('"answer"', '"answer|upper"'),
    ]:
        path.write_text(PLAIN.replace(original, replacement))
        changed.add(read_spec(path).signature)
    assert len(changed) == 6


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read the task .*own.toml: No such file"):
        read_spec(tmp_path / "own.toml")


def test_every_task_that_comes_with_ragkit_is_right(tmp_path: Path) -> None:
    assert len(names()) == len(set(names())) >= 20
    for name in names():
        spec, folder = find_spec(name, data=tmp_path)
        assert spec.name == name
        assert spec.title
        assert any(word in spec.source for word in ("arXiv", "lm-eval", "lm_eval", "aclanthology"))
        assert folder.parent == tmp_path


def test_all_subjects_have_chinese_names(tmp_path: Path) -> None:
    counts = {name: len(find_spec(name, data=tmp_path)[0].names) for name in ("cmmlu", "ceval")}
    assert counts == {"cmmlu": 67, "ceval": 52}
