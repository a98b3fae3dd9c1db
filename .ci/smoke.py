"""Check an installed wheel as its first user would; takes the folder to ingest."""

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

PACKAGES = {
    "ragkit",
    "ragkit_ingest",
    "ragkit_serve",
    "ragkit_models",
    "ragkit_eval",
    "ragkit_tune",
}


def ragkit(*arguments: str, code: int = 0) -> str:
    command = [str(Path(sys.executable).with_name("ragkit")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


def main(corpus: str) -> None:
    files = [file.parts[0] for file in distribution("ragkit").files or []]
    names = {name for name in files if not name.endswith(".dist-info") and name != ".."}
    assert names == PACKAGES, f"top-level names of the wheel: {sorted(names)}"

    first = json.loads(ragkit("ingest", corpus, "--json"))
    assert first["documents"]["added"] > 0, first
    assert first["documents"]["failed"] == 0, first
    second = json.loads(ragkit("ingest", corpus, "--json"))
    assert second["embedded"] == 0, second
    assert second["documents"]["unchanged"] == first["documents"]["added"], second

    answer = json.loads(ragkit("ask", "How many days of annual leave do I get?", "--json"))
    assert not answer["refused"], answer
    for citation in answer["citations"]:
        shown = json.loads(ragkit("documents", "show", str(citation["document"]), "--json"))
        quoted = shown["text"][citation["start"] : citation["end"]]
        assert quoted == citation["quote"], citation
    ragkit("ask", "anything", "--collection", "nowhere", code=2)

    ragkit("eval", "testset", "--questions", "10", "--out", "set.jsonl")
    for mode in ("hybrid", "lexical"):
        ragkit("eval", "rag", "set.jsonl", "--mode", mode, "--out", f"{mode}.jsonl")
    ragkit("eval", "report", "hybrid.jsonl", "lexical.jsonl", "--out", "report.html")
    assert "Content-Security-Policy" in Path("report.html").read_text(encoding="utf-8")
    assert "mmlu:lm-eval" in ragkit("eval", "tasks")
    ragkit("eval", "selftest")
    print(f"smoke test passed: {sorted(names)}, {first['documents']['added']} documents")


if __name__ == "__main__":
    main(sys.argv[1])
