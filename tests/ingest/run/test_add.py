"""Documents that a Python program adds to its knowledge base."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, NotFoundError, Settings, UsageError
from ragkit.embed.local import LocalEmbedder

pytestmark = pytest.mark.usefixtures("shared_model")

LEASE = "The lease can be terminated with three months' notice."
POLICY = "Employees have twenty-eight days of paid leave."


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home", jobs=1)


@pytest.fixture
def kb(settings: Settings) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(settings) as opened:
        yield opened


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "lease.txt").write_text(LEASE, encoding="utf-8")
    (folder / "damaged.docx").write_bytes(b"no document")
    return folder


def test_a_folder_is_added_and_can_be_asked_about(kb: KnowledgeBase, contracts: Path) -> None:
    with pytest.raises(NotFoundError):  # there is no collection yet
        kb.ask("How can the lease be terminated?")
    report = kb.add(contracts)
    assert (report.added, report.updated, report.unchanged) == (1, 0, 0)
    assert [Path(failure.uri).name for failure in report.failures] == ["damaged.docx"]
    assert LEASE in kb.ask("How can the lease be terminated?").text
    again = kb.add(str(contracts / "lease.txt"))
    assert (again.added, again.updated, again.unchanged) == (0, 0, 1)


def test_a_text_is_added_after_an_answer_and_replaced_by_its_title(
    kb: KnowledgeBase, contracts: Path
) -> None:
    kb.add(contracts / "lease.txt")
    assert kb.ask("How many days of paid leave do employees have?").refused
    assert kb.add(text=POLICY, title="Leave policy 2.0").added == 1
    answer = kb.ask("How many days of paid leave do employees have?")
    assert POLICY in answer.text
    assert answer.citations[0].uri == "text:Leave policy 2.0"
    assert answer.citations[0].title == "Leave policy 2.0"
    newer = POLICY.replace("twenty-eight", "thirty")
    assert kb.add(text=newer, title="Leave policy 2.0").updated == 1
    assert newer in kb.ask("How many days of paid leave do employees have?").text


def test_a_title_is_no_file_name(kb: KnowledgeBase) -> None:
    for title in ("lease.txt.meta.json", "a/../b", ".hidden", "x.zip"):
        assert kb.add(text=f"{POLICY} {title}", title=title).added == 1
    hits = kb.search("paid leave", k=9)
    assert {hit.title for hit in hits} == {"lease.txt.meta.json", "a/../b", ".hidden", "x.zip"}


def test_a_chinese_text_is_added(kb: KnowledgeBase) -> None:
    kb.add(text="员工每年有二十八天带薪年假。", title="休假制度")
    answer = kb.ask("员工每年有多少天年假？")
    assert "二十八天" in answer.text
    assert answer.citations[0].uri == "text:休假制度"


def test_the_model_is_loaded_once(
    settings: Settings, contracts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[LocalEmbedder] = []

    def embedder(_: Settings) -> LocalEmbedder:
        made.append(LocalEmbedder())
        return made[-1]

    monkeypatch.setattr("ragkit.knowledge.build.embedder", embedder)
    with KnowledgeBase.open(settings) as kb:
        kb.add(contracts / "lease.txt")
        kb.add(text=POLICY, title="Leave policy")
        assert kb.search("leave", k=1)
    assert len(made) == 1


def test_it_is_added_to_the_knowledge_bases_own_collection(
    settings: Settings, contracts: Path
) -> None:
    with KnowledgeBase.open(settings, collection="law") as kb:
        kb.add(contracts / "lease.txt")
        assert [one.name for one in kb.store.collections()] == ["law"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "either a path or a text"),
        ({"path": "contracts", "text": LEASE}, "either a path or a text"),
        ({"text": LEASE}, "title"),
        ({"text": LEASE, "title": "two\nlines"}, "title of one line"),
        ({"text": "\ud800", "title": "half"}, "half of a surrogate pair"),
        ({"path": "contracts", "title": "Lease"}, "a title is for a text"),
        ({"text": LEASE, "title": "Lease", "sync": True}, "sync is for a folder"),
    ],
)
def test_what_cannot_be_added_is_said(
    kb: KnowledgeBase, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        kb.add(**arguments)


@pytest.mark.parametrize(
    "path", [LEASE, f"{LEASE} " * 1000, "see https://example.org for more", ""]
)
def test_a_text_in_the_place_of_a_path_is_never_added(kb: KnowledgeBase, path: str) -> None:
    with pytest.raises(NotFoundError, match=r"no file or folder .*add\(text=") as raised:
        kb.add(path)
    assert len(str(raised.value)) < 300


def test_one_that_open_did_not_make_adds_nothing(kb: KnowledgeBase, contracts: Path) -> None:
    assert kb.database is not None
    other = KnowledgeBase.over(kb.database, Settings(), readers=("user:somebody",))
    with pytest.raises(UsageError, match=r"KnowledgeBase\.open\(\)"):
        other.add(contracts)
