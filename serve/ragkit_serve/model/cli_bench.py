"""`ragkit model bench`: how fast a model server is, beside transformers, and two runs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ragkit_serve.model.bench.load import Target
    from ragkit_serve.model.bench.measure import Baseline
    from ragkit_serve.model.bench.record import Record

_PREFIX_PART = 6  # of a prompt's tokens, those that all prompts share are one part; arbitrary
_SEED = 0  # of the generated prompts and the arrival times


def bench(
    url: Annotated[
        str | None,
        typer.Option(help="Base URL of the server (default: the setting RAGKIT_LLM_URL)."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Name of the model (default: RAGKIT_LLM_MODEL, or the server's first)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="File to write every request to.")
    ] = None,
    concurrency: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of concurrent requests to measure.")
    ] = "1,2,4,8",
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Requests a second to measure instead of --concurrency."
        ),
    ] = None,
    requests: Annotated[
        int, typer.Option(min=1, max=100_000, help="Number of requests at each level.")
    ] = 64,
    prompt_tokens: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Approximate number of tokens of a prompt.")
    ] = 1536,
    questions: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of questions that share their passages.")
    ] = 4,
    answer_tokens: Annotated[
        int, typer.Option(min=1, max=100_000, help="Maximum number of tokens of an answer.")
    ] = 64,
    ignore_eos: Annotated[
        bool,
        typer.Option("--ignore-eos", help="Generate exactly --answer-tokens (vLLM, llama.cpp)."),
    ] = False,
    language: Annotated[Literal["en", "zh", "both"], typer.Option()] = "both",
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help='Prompts to use instead of generated ones: {"prompt": ...} or '
            '{"messages": [...]}.',
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="local:MODEL", help="Measure transformers in this process, too."),
    ] = None,
    baseline_requests: Annotated[
        int, typer.Option(min=1, help="Number of prompts for the baseline.")
    ] = 16,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds allowed for one answer.")] = 300,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the result to this file: .png or .svg."),
    ] = None,
    diff: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="A.json B.json", help="Compare two output files instead of measuring."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a server's throughput, time to first token and time per token under load.

    The prompts are like those of questions over documents: long, several about the same passages,
    with short answers. Every request is kept, so that two runs can be compared. The key is
    RAGKIT_LLM_API_KEY.
    """
    from ragkit.errors import UsageError
    from ragkit_serve.model.bench import measure
    from ragkit_serve.model.bench.levels import parse_levels, parse_rates
    from ragkit_serve.model.bench.record import write
    from ragkit_serve.model.bench.workload import Shape, Workload

    if diff is not None:
        if output is not None or plot is not None:
            raise UsageError(
                "--diff reads two files and writes none: leave --output and --plot out"
            )
        _compare(*diff, as_json=as_json)
        return
    if output is None:
        raise UsageError("say where the measurements go: --output bench.json")
    _check_files(output, plot)
    levels = parse_levels(concurrency) if rate is None else parse_rates(rate)
    shape = Shape(
        requests=requests,
        prefix_tokens=prompt_tokens // _PREFIX_PART,
        prompt_tokens=prompt_tokens,
        questions=questions,
        languages=("en", "zh") if language == "both" else (language,),
        seed=_SEED,
    )
    asked, about = _prompts(prompts, shape)
    beside = _baseline(baseline, baseline_requests)
    target = _target(url, model, timeout, needed=beside is None)
    with _watching() as watch:
        record = measure.benchmark(
            Workload(prompts=asked, answer_tokens=answer_tokens, ignore_eos=ignore_eos),
            about,
            target=target,
            levels=levels,
            baseline=beside,
            seed=_SEED,
            watch=watch,
        )
    write(record, output)
    _print(record, output, as_json=as_json)
    drawn = plot is None or _draw(record, plot)
    if not drawn or any(run.summary.failed for run in record.runs):
        raise typer.Exit(3 if any(run.summary.completed for run in record.runs) else 1)


def _check_files(output: Path, plot: Path | None) -> None:
    """Refuse before the work what would fail after it."""
    from ragkit.errors import UsageError
    from ragkit_serve.model.bench.record import check_writable

    check_writable(output)
    if plot is not None:
        check_writable(plot)
        if plot.suffix.lower() not in {".png", ".svg"}:
            raise UsageError(f"--plot {plot}: name a .png or .svg file")


def _prompts(file: Path | None, shape: Any) -> tuple[Any, dict[str, Any]]:
    from dataclasses import asdict

    from ragkit_serve.model.bench.workload import make_prompts, read_prompts

    if file is not None:
        return read_prompts(file, shape.requests), {"source": file.name}
    return make_prompts(shape), {"source": "made up", **asdict(shape)}


def _baseline(named: str | None, requests: int) -> Baseline | None:
    from ragkit.errors import NotFoundError
    from ragkit_serve.model.bench.measure import Baseline

    if named is None:
        return None
    model = named.removeprefix("local:")
    is_path = model.startswith(("/", ".", "~"))
    if is_path and not (Path(model).expanduser() / "config.json").is_file():
        raise NotFoundError(f"--baseline {model} is no model's folder: it has no config.json")
    return Baseline(model=model, requests=requests)


def _target(url: str | None, model: str | None, timeout_s: float, *, needed: bool) -> Target | None:
    """Name the server to measure; None when none is named and none is needed."""
    from ragkit.errors import UsageError
    from ragkit.model.server import ModelServer
    from ragkit.settings import load_settings
    from ragkit_serve.model.bench.load import Target
    from ragkit_serve.model.bench.measure import model_of

    settings = load_settings()
    named = url or settings.llm_url or ""
    if url is None and not named.startswith("http"):
        if not needed:
            return None
        raise UsageError("name the server to measure: --url http://127.0.0.1:8000/v1")
    if url is None and len(named.split()) > 1:
        raise UsageError("RAGKIT_LLM_URL names several servers: choose one with --url")
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    server = ModelServer(named, key)
    try:
        server.check()
    except UsageError as error:
        raise UsageError(
            f"{server.shown!r} is no server's address: write --url as http://127.0.0.1:8000/v1"
        ) from error
    wanted = model or (settings.llm_model if url is None else None)
    return Target(server=server, model=model_of(server, wanted), timeout_s=timeout_s)


def _print(record: Record, output: Path, *, as_json: bool) -> None:
    from ragkit.render import print_json
    from ragkit_serve.model.bench import show
    from ragkit_serve.model.bench.record import as_json as written

    if as_json:
        against = [show.difference_json(one) for one in show.against_baseline(record)]
        print_json(
            written(record, rows=False) | {"output": str(output), "against_transformers": against}
        )
    else:
        show.print_record(record)
        typer.echo(f"\n{output}: every request, and what each figure means")


def _compare(a: Path, b: Path, *, as_json: bool) -> None:
    from ragkit.render import print_json
    from ragkit_serve.model.bench import show
    from ragkit_serve.model.bench.compare import RESAMPLES, compare_records
    from ragkit_serve.model.bench.record import read

    first, second = read(a), read(b)
    found = compare_records(first, second)
    if not as_json:
        show.print_comparison(first, second, found, (a, b))
        return
    print_json(
        {
            "a": str(a),
            "b": str(b),
            "workload": first.workload_hash,
            "resamples": RESAMPLES,
            "circumstances": show.circumstances(first, second),
            "failed": [sum(run.summary.failed for run in x.runs) for x in (first, second)],
            "differences": [show.difference_json(one) for one in found],
        }
    )


def _draw(record: Record, path: Path) -> bool:
    """Draw the plot, or say in one line what it needs; tell whether it was drawn."""
    from ragkit_serve.model.bench.plot import draw

    try:
        draw(record, path)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        typer.echo("ragkit: no plot: it needs matplotlib: pip install 'ragkit[plot]'", err=True)
        return False
    return True


@contextmanager
def _watching() -> Iterator[Any]:
    """Show a bar for each level on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:

        @contextmanager
        def watch(what: str, total: int) -> Iterator[Callable[[], None]]:
            task = bars.add_task(what, total=total)
            yield lambda: bars.update(task, advance=1)

        yield watch
