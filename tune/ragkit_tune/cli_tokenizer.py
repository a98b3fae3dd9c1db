"""`ragkit tune tokenizer`: train a vocabulary, or extend a model's."""

from pathlib import Path
from typing import Annotated

import typer

from ragkit.cli.lazy import Entry, lazy_group
from ragkit.cli.render import print_json
from ragkit.errors import UsageError

COMMANDS = {
    "train": Entry("ragkit_tune.cli_tokenizer:train", "Train a vocabulary on your texts."),
    "extend": Entry("ragkit_tune.cli_tokenizer:extend", "Add your texts' words to a model."),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _tokenizer() -> None:
    """Train a vocabulary on your own texts, or extend a model's by their words."""


ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder with safetensors, or its name.")
]
TextsOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Texts: .txt, .md, .jsonl or a folder (repeatable)."),
]
CollectionOption = Annotated[
    str | None,
    typer.Option("--collection", "-c", metavar="NAME", help="Collection whose documents to read."),
]
OutOption = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the result.")]
SizeOption = Annotated[int, typer.Option(metavar="N", help="Maximum number of tokens.")]
KindOption = Annotated[
    str,
    typer.Option(
        metavar="bpe|unigram", help="bpe: by bytes, nothing is unknown; unigram: by likelihood."
    ),
]
AddOption = Annotated[int, typer.Option(metavar="N", help="Maximum number of new tokens.")]
ReportOption = Annotated[
    bool,
    typer.Option(
        "--report", help="Choose tokens by half of the texts, and count those of the other half."
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="A model whose tokens --report compares with."),
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def train(
    out: OutOption,
    texts: TextsOption = None,
    collection: CollectionOption = None,
    size: SizeOption = 32_000,
    model: KindOption = "bpe",
    report: ReportOption = False,
    against: AgainstOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Train a vocabulary on your own texts, for a model that is trained from nothing.

    A trained model has rows for its own tokens only: extend that by `ragkit tune tokenizer extend`.
    The vocabulary shows words of the texts.
    """
    from dataclasses import asdict

    from ragkit_tune.model_files.texts import gather_texts
    from ragkit_tune.vocabulary.density import compare_trained
    from ragkit_tune.vocabulary.train import MODELS, train_tokenizer, write_tokenizer

    kind = next((name for name in MODELS if name == model), None)
    if kind is None:
        raise UsageError(f"--model {model} is unknown: choose one of {', '.join(MODELS)}")
    if against is not None and not report:
        raise UsageError("--against names what --report compares with: give both")
    content = gather_texts(texts or (), collection)
    density = compare_trained(content, size, kind, against) if report else None
    tokenizer = train_tokenizer(content, size, kind)
    write_tokenizer(tokenizer, out)
    tokens = tokenizer.get_vocab_size()
    if as_json:
        values = {"output": str(out), "tokens": tokens, "texts": len(content)}
        print_json(values | {"report": asdict(density) if density else None})
        return
    typer.echo(f"{out}: {tokens:,} tokens of {len(content):,} texts.")
    if density is not None:
        typer.echo(f"Trained on the other half: {density.text}.")


def extend(
    model: ModelArgument,
    out: OutOption,
    texts: TextsOption = None,
    collection: CollectionOption = None,
    add: AddOption = 1000,
    report: ReportOption = False,
    as_json: AsJsonOption = False,
) -> None:
    """Add tokens of your own texts to a model, with rows that a training run then improves.

    A new token is a pair of tokens that often stand together; its row is the mean of theirs. The
    vocabulary shows words of the texts.
    """
    from dataclasses import asdict

    from ragkit_tune.model_files.card import how_to_prove
    from ragkit_tune.model_files.texts import gather_texts
    from ragkit_tune.vocabulary.extend import extend_model

    content = gather_texts(texts or (), collection)
    card, density = extend_model(model, content, add, out, report=report)
    if as_json:
        values = {"output": str(out), **card.as_json()}
        print_json(values | {"report": asdict(density) if density else None})
        return
    typer.echo(f"{out}: {card.bytes_after / 1e6:,.1f} MB of weights.")
    for note in card.notes:
        typer.echo(f"{note}.")
    typer.echo(how_to_prove(out))
