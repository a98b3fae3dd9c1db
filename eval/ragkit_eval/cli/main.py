"""`ragkit eval`: the table of its commands, each in its own file."""

import typer

from ragkit.cli.lazy import Entry, lazy_group

COMMANDS = {
    "run": Entry("ragkit_eval.cli.run:run", "Run tasks against a language model."),
    "tasks": Entry("ragkit_eval.cli.tasks:tasks", "List the tasks and what each needs."),
    "rag": Entry("ragkit_eval.cli.rag:rag", "Score whole answers over a collection."),
    "retrieval": Entry("ragkit_eval.cli.retrieval:retrieval", "Score what a collection finds."),
    "score": Entry("ragkit_eval.cli.score:score", "Score predictions made elsewhere."),
    "import": Entry(
        "ragkit_eval.cli.import_runs:import_runs",
        "Read lm-evaluation-harness's or Inspect's logs as a run.",
    ),
    "compare": Entry("ragkit_eval.cli.compare:compare", "Compare runs, paired by item."),
    "gate": Entry("ragkit_eval.cli.gate:gate", "Fail when a run is worse than a baseline."),
    "report": Entry(
        "ragkit_eval.cli.report:report", "Write runs as one HTML, Markdown or CSV file."
    ),
    "testset": Entry("ragkit_eval.cli.testset:testset", "Make questions from your own documents."),
    "calibrate": Entry(
        "ragkit.cli.calibrate:calibrate", "Fit when to refuse, from labelled questions."
    ),
    "sweep": Entry("ragkit_eval.cli.sweep:sweep", "Find settings that are better, and confirm it."),
    "quant": Entry("ragkit_eval.cli.quant:quant", "Measure what quantization costs."),
    "judge-check": Entry(
        "ragkit_eval.cli.judge:judge_check", "Measure how far a judge agrees with people."
    ),
    "selftest": Entry("ragkit_eval.cli.selftest:selftest", "Check every metric against oracles."),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _eval() -> None:
    """Evaluate models, indexes and answers, and compare runs."""
