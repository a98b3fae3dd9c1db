"""`ragkit tune`: a table of its commands, each in a file of its own."""

import typer

from ragkit.cli.lazy import Entry, lazy_group

_MODELS = "Make models"
_RUNS = "Runs and results"
COMMANDS = {
    "data": Entry("ragkit_tune.cli_data:data", "Make rows to train on from your documents."),
    "plan": Entry("ragkit_tune.cli_plan:plan", "Say what fits, and how long it takes."),
    "embedder": Entry("ragkit_tune.cli_run:embedder", "Train an embedding model.", _MODELS),
    "reranker": Entry("ragkit_tune.cli_run:reranker", "Train a reranker.", _MODELS),
    "adapter": Entry("ragkit_tune.cli_run:adapter", "Train a language model.", _MODELS),
    "reward": Entry("ragkit_tune.cli_run:reward", "Train a reward model.", _MODELS),
    "merge": Entry("ragkit_tune.cli_merge:merge", "Merge models of equal shapes.", _MODELS),
    "shrink": Entry("ragkit_tune.cli_shrink:shrink", "Make a model smaller.", _MODELS),
    "tokenizer": Entry("ragkit_tune.cli_tokenizer:app", "Train or extend a vocabulary.", _MODELS),
    "runs": Entry("ragkit_tune.cli_runs:app", "List, compare, resume and delete runs.", _RUNS),
    "prove": Entry("ragkit_tune.cli_prove:prove", "Say whether a model is better.", _RUNS),
    "adopt": Entry("ragkit_tune.cli_adopt:adopt", "Use a model that is proven better.", _RUNS),
    "export": Entry("ragkit_tune.cli_export:export", "Write rows for other trainers.", _RUNS),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _tune() -> None:
    """Train models on your own documents, and prove whether they are better."""
