"""Cross-encoders against sentence-transformers' own scores, and as a reranker must be."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import ModelError
from ragkit.rerank.classifier import PairScorer
from ragkit.rerank.cross_encoder import CrossEncoderReranker
from ragkit.rerank.pipeline import LibraryScorer
from ragkit.testing import RerankerConformance
from ragkit.testing.conformance.reranker import PASSAGES, QUERY
from tests.core.rerank.conftest import MAX_TOKENS, TEXTS, ZH_QUERY, Make

SHORT = [text for text in TEXTS if len(text) < 100 and "[SEP]" not in text]
IDENTITY = "torch.nn.modules.linear.Identity"


def library(folder: Path) -> Any:
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), device="cpu", local_files_only=True)


def expected(folder: Path, query: str, passages: list[str]) -> list[float]:
    pairs = [(query, passage) for passage in passages]
    return [float(score) for score in library(folder).predict(pairs, show_progress_bar=False)]


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("query", [QUERY, ZH_QUERY])
@pytest.mark.parametrize(
    ("kind", "activation", "scorer"),
    [
        ("Bert", None, PairScorer),
        ("Bert", IDENTITY, PairScorer),
        ("XLMRoberta", IDENTITY, PairScorer),
        ("DistilBert", IDENTITY, LibraryScorer),
        ("Bert", "torch.nn.modules.activation.Tanh", LibraryScorer),
    ],
)
def test_scores_are_the_librarys(
    make: Make, kind: str, activation: str | None, scorer: type, query: str
) -> None:
    folder = make(kind, activation)
    reranker = CrossEncoderReranker(str(folder), device="cpu")
    reranker.load()
    assert isinstance(reranker._ready[1], scorer)
    wanted = expected(folder, query, SHORT)
    assert max(wanted) - min(wanted) > 0.01  # they tell the passages apart
    assert list(reranker.rerank(query, SHORT)) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.usefixtures("float32")
def test_the_activation_is_read_as_sentence_transformers_6_writes_it(
    make: Make, tmp_path: Path
) -> None:
    library(make("Bert", IDENTITY)).save_pretrained(str(tmp_path / "saved"))
    written = json.loads((tmp_path / "saved/config_sentence_transformers.json").read_text("utf-8"))
    assert written["activation_fn"] == IDENTITY
    wanted = expected(tmp_path / "saved", QUERY, SHORT)
    reranker = CrossEncoderReranker(str(tmp_path / "saved"), device="cpu")
    assert list(reranker.rerank(QUERY, SHORT)) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.usefixtures("bfloat16")
def test_half_precision_keeps_the_scores_within_a_twentieth_of_their_spread(make: Make) -> None:
    folder = make("Bert", IDENTITY)
    wanted = expected(folder, QUERY, SHORT)
    found = CrossEncoderReranker(str(folder), device="cpu").rerank(QUERY, SHORT)
    spread = max(wanted) - min(wanted)
    assert found != pytest.approx(wanted, abs=1e-5)  # it is half precision
    assert list(found) == pytest.approx(wanted, abs=spread / 20)


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize(("kind", "spare"), [("Bert", 0), ("DistilBert", 4)])
def test_of_a_long_passage_the_best_part_counts(make: Make, kind: str, spare: int) -> None:
    folder = make(kind, IDENTITY)
    query = "a a a a a"
    room = MAX_TOKENS - 3 - 5 - spare  # beside the query and three markers
    letters = ["bcdefgh"[n % 7] for n in range(room * 2 + 5)]
    pieces = [" ".join(letters[n : n + room]) for n in range(0, len(letters), room)]
    assert len(pieces) == 3
    found = CrossEncoderReranker(str(folder), device="cpu").rerank(query, [" ".join(letters)])
    assert list(found) == pytest.approx([max(expected(folder, query, pieces))], abs=1e-4)


@pytest.mark.usefixtures("float32")
def test_a_long_query_takes_half_of_what_the_model_reads(make: Make) -> None:
    folder = make("Bert", IDENTITY)
    reranker = CrossEncoderReranker(str(folder), device="cpu")
    half = " ".join("a" * (MAX_TOKENS // 2))
    assert reranker.rerank(f"{half} b c d" * 50, ["cats sleep"]) == pytest.approx(
        expected(folder, half, ["cats sleep"]), abs=1e-4
    )


@pytest.mark.usefixtures("float32")
def test_the_token_budget_changes_no_score(make: Make) -> None:
    folder = make("Bert", IDENTITY)
    wide = CrossEncoderReranker(str(folder), device="cpu").rerank(QUERY, TEXTS)
    narrow = CrossEncoderReranker(str(folder), device="cpu", batch_tokens=1).rerank(QUERY, TEXTS)
    assert list(wide) == pytest.approx(list(narrow), abs=1e-5)


@pytest.mark.usefixtures("float32")
def test_a_passage_that_writes_a_marker_writes_a_word(make: Make) -> None:
    reranker = CrossEncoderReranker(str(make("Bert", IDENTITY)), device="cpu")
    marked, words = reranker.rerank(QUERY, ["a [SEP] b", "a [ sep ] b"])
    assert marked == pytest.approx(words, abs=1e-5)
    assert len(reranker.rerank("\ud800", ["\udfff cats"])) == 1


def test_the_name_tells_versions_apart(make: Make) -> None:
    first, second = make("Bert", IDENTITY), make("DistilBert")
    one, other = (CrossEncoderReranker(str(folder)) for folder in (first, second))
    assert one.name.startswith("tiny@")
    assert one.name != other.name


def without(folder: Path, target: Path, name: str, **config: Any) -> Path:
    """Copy a folder with another configuration."""
    shutil.copytree(folder, target)
    file = target / name
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | config), "utf-8")
    return target


def test_what_is_no_reranker_is_refused(make: Make, tmp_path: Path) -> None:
    folder = make("Bert")
    for target, changed, said in (
        ("bare", {"architectures": ["BertModel"]}, "no cross-encoder but BertModel"),
        ("unknown", {"architectures": None}, "without an architecture"),
        ("many", {"id2label": {"0": "no", "1": "yes"}}, "2 labels"),
    ):
        odd = without(folder, tmp_path / target, "config.json", **changed)
        with pytest.raises(ModelError, match=said) as caught:
            CrossEncoderReranker(str(odd)).load()
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="reranker folder /no/such does not exist"):
        CrossEncoderReranker("/no/such").load()


def test_a_broken_folder_is_one_clear_line(make: Make, tmp_path: Path) -> None:
    odd = without(make("Bert"), tmp_path / "odd", "config.json", model_type="no-such-network")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        CrossEncoderReranker(str(odd)).load()
    assert "\n" not in str(caught.value)


class TestConformance(RerankerConformance):
    @pytest.fixture
    def reranker(self, taught: CrossEncoderReranker) -> CrossEncoderReranker:
        return taught


@pytest.fixture(scope="module")
def taught(make: Make, tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderReranker:
    """A network whose last layer solves the conformance suite's one question."""
    import torch

    model = library(make("Bert", IDENTITY))
    network = model[0].model
    features = model.preprocess([(QUERY, passage) for passage in PASSAGES])
    with torch.inference_mode():
        first = network.bert(**{k: v for k, v in features.items() if k != "modality"})[1]
        wanted = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0])
        solved = torch.linalg.lstsq(first, wanted[:, None], driver="gelsd").solution.T.clone()
    network.classifier.weight.data, network.classifier.bias.data = solved, torch.zeros(1)
    folder = tmp_path_factory.mktemp("taught") / "model"
    model.save_pretrained(str(folder))
    return CrossEncoderReranker(str(folder), device="cpu")
