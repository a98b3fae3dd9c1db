"""`ragkit model bench`: a server measured on questions over documents, or two runs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit_serve.model.bench.load import Target


def bench(
    url: Annotated[str | None, typer.Option(help="The server.  [default: RAGKIT_LLM_URL]")] = None,
    model: Annotated[
        str | None, typer.Option(help="Its model.  [default: RAGKIT_LLM_MODEL]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Where all figures are kept.")
    ] = None,
    concurrency: Annotated[
        str, typer.Option(metavar="N,N,...", help="Requests at once, level by level.")
    ] = "1,2,4,8",
    rate: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Requests a second instead, however many run."),
    ] = None,
    requests: Annotated[int, typer.Option(min=1, help="Requests of each level.")] = 64,
    prefix_tokens: Annotated[
        int, typer.Option(min=1, max=10**6, help="Of the system prompt, about.")
    ] = 256,
    prompt_tokens: Annotated[
        int, typer.Option(min=2, max=10**6, help="Of a whole prompt, about.")
    ] = 1536,
    questions: Annotated[int, typer.Option(min=1, help="Questions that share their passages.")] = 4,
    answer_tokens: Annotated[int, typer.Option(min=1, help="Of an answer, at most.")] = 64,
    ignore_eos: Annotated[
        bool,
        typer.Option("--ignore-eos", help="Answers of exactly that length (vLLM, llama.cpp)."),
    ] = False,
    prompts: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Your own prompts in place of made-up ones."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the made-up prompts.")] = 0,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The model's folder, to run in transformers too."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a request.")] = 300.0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture, .png or .svg.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A.json B.json", help="Compare two runs, and measure nothing."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a server's throughput, time to first token and time per token under load.

    The prompts are like those of questions over documents: long, several about the same passages,
    with short answers. Every request is kept in the file, so that two runs can be compared.
    """
    if compare is not None:
        _compare(*compare, as_json=as_json)
        return
    from ragkit.errors import UsageError
    from ragkit.render import print_json
    from ragkit_serve.model.bench import record as records
    from ragkit_serve.model.bench.levels import parse_levels, parse_rates
    from ragkit_serve.model.bench.measure import Baseline, benchmark
    from ragkit_serve.model.bench.show import print_record
    from ragkit_serve.model.bench.workload import Shape, Workload, make_prompts, read_prompts

    if output is None:
        raise UsageError("name the file for the figures: --output bench.json")
    levels = parse_rates(rate) if rate is not None else parse_levels(concurrency)
    target = _target(url, model, timeout)
    _check_files(output, plot, baseline)
    shape = Shape(
        requests=requests,
        prefix_tokens=prefix_tokens,
        prompt_tokens=prompt_tokens,
        questions=questions,
        seed=seed,
    )
    asked = make_prompts(shape) if prompts is None else read_prompts(prompts, requests)
    record = benchmark(
        Workload(prompts=asked, answer_tokens=answer_tokens, ignore_eos=ignore_eos),
        {"prompts": "made up", **asdict(shape)} if prompts is None else {"prompts": str(prompts)},
        target=target,
        levels=levels,
        baseline=None if baseline is None else Baseline(model=str(baseline), requests=requests),
        seed=seed,
        watch=_watch,
    )
    records.write(record, output)
    if as_json:
        print_json(records.as_json(record, rows=False))
    else:
        print_record(record)
        typer.echo(f"Every request is in {output}.")
    drawn = plot is None or _draw(output, plot)
    if not drawn or any(run.summary.failed for run in record.runs):
        raise typer.Exit(3)


def _say(line: str) -> None:
    typer.echo(f"ragkit: {line}", err=True)


@contextmanager
def _watch(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on a terminal; elsewhere say once what begins."""
    import sys

    from rich.console import Console
    from rich.progress import Progress

    if not sys.stderr.isatty():
        _say(f"{what}: {total} requests")
        yield lambda: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _target(url: str | None, model: str | None, timeout_s: float) -> Target:
    from ragkit.errors import UsageError
    from ragkit.model.server import ModelServer
    from ragkit.settings import load_settings
    from ragkit_serve.model.bench.load import Target

    settings = load_settings()
    # Of several servers each is measured by itself, or the address before them is.
    found = url or (settings.llm_url or "").partition(" ")[0]
    name = model or settings.llm_model
    if not found or found.startswith(("local:", "provider:")) or not name:
        raise UsageError("name the server and its model: --url http://host:8000/v1 --model NAME")
    key = settings.llm_api_key
    server = ModelServer(found, key.get_secret_value() if key else None)
    try:
        server.check()
    except UsageError as error:
        raise UsageError(
            f"{server.shown!r} is no server's address: write --url as http://host:8000/v1"
        ) from error
    return Target(server=server, model=name, timeout_s=timeout_s)


def _check_files(output: Path, plot: Path | None, baseline: Path | None) -> None:
    """Refuse before the work what would fail after it."""
    from ragkit.errors import NotFoundError, UsageError
    from ragkit_serve.model.bench.record import check_writable

    check_writable(output)
    if plot is not None:
        check_writable(plot)
        if plot.suffix.lower() not in {".png", ".svg"}:
            raise UsageError(f"--plot {plot}: name a .png or .svg file")
    if baseline is not None and not (baseline / "config.json").is_file():
        raise NotFoundError(f"--baseline {baseline} is no model's folder: it has no config.json")


def _draw(output: Path, plot: Path) -> bool:
    """Draw the plot from the file, or say in one line what is missing for it."""
    from ragkit_serve.model.bench.record import read

    try:
        from ragkit_serve.model.bench.plot import draw

        draw(read(output), plot)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        _say("the plot needs matplotlib: pip install 'ragkit[plot]'; the figures are written")
        return False
    _say(f"the plot is {plot}")
    return True


def _compare(first: Path, second: Path, *, as_json: bool) -> None:
    from ragkit.render import print_json
    from ragkit_serve.model.bench.compare import compare_records
    from ragkit_serve.model.bench.record import read
    from ragkit_serve.model.bench.show import print_differences

    a, b = read(first), read(second)
    found = compare_records(a, b)
    if as_json:
        rows = [{**asdict(one), "verdict": one.verdict} for one in found]
        print_json({"workload": a.workload_hash, "differences": rows})
    else:
        print_differences(found, a, b)
