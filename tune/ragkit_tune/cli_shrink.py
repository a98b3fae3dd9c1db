"""`ragkit tune shrink`: make a model smaller."""

from pathlib import Path
from typing import Annotated

import typer

from ragkit.cli.render import print_json
from ragkit.errors import UsageError

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder with safetensors, or its name.")
]
OutOption = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the new model.")]
VocabularyOption = Annotated[
    str,
    typer.Option(metavar="en,zh", help="Leave only tokens in the scripts of these languages."),
]
TextsOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Leave only the tokens of these texts: .txt, .md, .jsonl or a folder (repeatable).",
    ),
]
CollectionOption = Annotated[
    str,
    typer.Option(
        "--collection", "-c", metavar="NAME", help="Leave only the tokens of its documents."
    ),
]
LayersOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Leave only so many layers (0: all).")
]
LayerChoiceOption = Annotated[
    str, typer.Option("--which", metavar="even|first|last", help="Which layers remain.")
]
HeadsOption = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Set the N weakest heads of each layer to zero."),
]
MagnitudeOption = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Set this share of the layers' weights to zero, as 0.3."),
]
ScopeOption = Annotated[
    str,
    typer.Option(metavar="global|layer", help="One threshold for --magnitude, or one by matrix."),
]
DimensionOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Give vectors N dimensions (0: all).")
]
PcaOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Principal components of these texts for --dimension, instead of the first ones.",
    ),
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print card.json.")]


def shrink(
    model: ModelArgument,
    out: OutOption,
    vocabulary: VocabularyOption = "",
    texts: TextsOption = None,
    collection: CollectionOption = "",
    layers: LayersOption = 0,
    which: LayerChoiceOption = "even",
    heads: HeadsOption = 0,
    magnitude: MagnitudeOption = 0.0,
    scope: ScopeOption = "global",
    dimension: DimensionOption = 0,
    pca: PcaOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Make a model smaller: fewer tokens, layers, dimensions, or weights set to zero.

    A smaller vocabulary leaves the vectors of texts in its languages as they are; the other ways
    change them, and a run of `ragkit tune embedder --base FOLDER` recovers a part.
    """
    from ragkit_tune.model_files.card import how_to_prove
    from ragkit_tune.shrink.layers import CHOICES
    from ragkit_tune.shrink.magnitude import SCOPES
    from ragkit_tune.shrink.shrink import ShrinkOptions, shrink_model

    choice = next((name for name in CHOICES if name == which), None)
    if choice is None:
        raise UsageError(f"--which {which} is unknown: choose one of {', '.join(CHOICES)}")
    threshold = next((name for name in SCOPES if name == scope), None)
    if threshold is None:
        raise UsageError(f"--scope {scope} is unknown: choose one of {', '.join(SCOPES)}")
    options = ShrinkOptions(
        vocabulary=tuple(filter(None, vocabulary.replace(" ", "").split(","))),
        texts=tuple(texts or ()),
        collection=collection,
        layers=layers,
        layer_choice=choice,
        heads=heads,
        magnitude=magnitude,
        scope=threshold,
        dimension=dimension,
        pca=tuple(pca or ()),
    )
    card = shrink_model(model, options, out)
    if as_json:
        print_json({"output": str(out), **card.as_json()})
        return
    share = card.bytes_after / card.bytes_before
    typer.echo(f"{out}: {card.bytes_after / 1e6:,.1f} MB of weights, {share:.0%} of the original.")
    for note in card.notes:
        typer.echo(f"{note}.")
    typer.echo(how_to_prove(out))
