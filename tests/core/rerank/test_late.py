"""Late interaction against a plain numpy MaxSim, from ColBERT's own layout and the library's."""

import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragkit.errors import ModelError
from ragkit.rerank.late import LateReranker
from ragkit.testing import RerankerConformance
from ragkit.testing.conformance.reranker import QUERY
from tests.core.rerank.conftest import TEXTS, ZH_QUERY, Make, save_tokenizer

SHORT = [text for text in TEXTS if 0 < len(text) < 60 and "[SEP]" not in text]
QUERY_TOKENS, PASSAGE_TOKENS = 24, 40
MARKERS = ("[unused0]", "[unused1]")


@pytest.fixture(scope="module")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model at random."""
    return write(tmp_path_factory.mktemp("late") / "colbert", layers=2)


def write(folder: Path, *, layers: int, query_tokens: int = QUERY_TOKENS) -> Path:
    """Write a folder as ColBERT's authors do: a BERT, linear.weight with it, artifact.metadata."""
    import torch
    import transformers
    from safetensors.torch import save_file

    size = save_tokenizer(folder, special=MARKERS)
    torch.manual_seed(5)
    config = transformers.BertConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=48,
    )  # fmt: skip
    network: Any = transformers.BertModel(config)
    network.eval()
    weights = {f"bert.{name}": value for name, value in network.state_dict().items()}
    if layers == 0:  # a token's vector is that of its word
        weights["bert.embeddings.position_embeddings.weight"].zero_()
    weights["linear.weight"] = torch.randn(16, 32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    written = config.to_dict() | {"architectures": ["HF_ColBERT"]}
    (folder / "config.json").write_text(json.dumps(written), "utf-8")
    metadata = {
        "query_token_id": MARKERS[0], "doc_token_id": MARKERS[1], "query_maxlen": query_tokens,
        "doc_maxlen": PASSAGE_TOKENS, "mask_punctuation": True, "attend_to_mask_tokens": False,
    }  # fmt: skip
    (folder / "artifact.metadata").write_text(json.dumps(metadata), "utf-8")
    return folder


def vectors(folder: Path, text: str, *, query: bool) -> Any:
    """Encode by the paper: markers, [MASK] up to a query's length, no punctuation in a passage."""
    import torch
    import transformers
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    stored = load_file(folder / "model.safetensors")
    config = transformers.BertConfig.from_pretrained(folder)
    network: Any = transformers.BertModel(config)
    network.eval()
    network.load_state_dict(
        {name[5:]: value for name, value in stored.items() if name.startswith("bert.")}
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    own = tokenizer.encode(text, add_special_tokens=False).ids
    cls, sep, mask = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[MASK]"))
    ids = [cls, tokenizer.token_to_id(MARKERS[0] if query else MARKERS[1]), *own, sep]
    seen = len(ids)
    if query:
        ids += [mask] * (QUERY_TOKENS - len(ids))
    attended = torch.tensor([[n < seen for n in range(len(ids))]]).long()
    with torch.inference_mode():
        hidden = network(input_ids=torch.tensor([ids]), attention_mask=attended).last_hidden_state
        projected = (hidden[0] @ stored["linear.weight"].T).numpy()
    unit = projected / np.linalg.norm(projected, axis=1, keepdims=True)
    marks = {tokenizer.token_to_id(mark) for mark in string.punctuation}
    return unit if query else unit[[n for n, one in enumerate(ids) if one not in marks]]


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("query", [QUERY, ZH_QUERY])
def test_scores_are_numpys_maxsim(colbert: Path, query: str) -> None:
    asked = vectors(colbert, query, query=True)
    wanted = [(asked @ vectors(colbert, t, query=False).T).max(1).sum() for t in SHORT]
    assert max(wanted) - min(wanted) > 0.05
    found = LateReranker(str(colbert), device="cpu").rerank(query, SHORT)
    assert list(found) == pytest.approx([float(score) for score in wanted], abs=1e-3)


@pytest.mark.usefixtures("float32")
def test_a_folder_of_the_librarys_own_scores_alike(colbert: Path, tmp_path: Path) -> None:
    from sentence_transformers import MultiVectorEncoder

    MultiVectorEncoder(str(colbert), device="cpu").save_pretrained(str(tmp_path / "saved"))
    saved = LateReranker(str(tmp_path / "saved"), device="cpu")
    first = LateReranker(str(colbert), device="cpu")
    assert list(saved.rerank(QUERY, SHORT)) == pytest.approx(
        list(first.rerank(QUERY, SHORT)), abs=1e-4
    )
    assert saved.name.startswith("late:saved@")


@pytest.mark.usefixtures("float32")
def test_of_a_long_passage_the_best_part_counts(colbert: Path) -> None:
    reranker = LateReranker(str(colbert), device="cpu")
    room = PASSAGE_TOKENS - 8
    letters = ["bcdefgh"[n % 7] for n in range(2 * room + 3)]
    pieces = [" ".join(letters[n : n + room]) for n in range(0, len(letters), room)]
    (whole,) = reranker.rerank(QUERY, [" ".join(letters)])
    assert whole == pytest.approx(max(reranker.rerank(QUERY, pieces)), abs=1e-4)


def test_a_model_without_a_projection_is_given_none_at_random(make: Make) -> None:
    with pytest.raises(ModelError, match="no multi-vector model but BertForSequence") as caught:
        LateReranker(str(make("Bert"))).load()
    assert "\n" not in str(caught.value)


class TestConformance(RerankerConformance):
    @pytest.fixture
    def reranker(self, loaded: LateReranker) -> LateReranker:
        return loaded


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LateReranker:
    """A model that goes by shared words, as the suite's question can be answered by."""
    folder = write(tmp_path_factory.mktemp("late") / "words", layers=0, query_tokens=9)
    return LateReranker(str(folder), device="cpu")
