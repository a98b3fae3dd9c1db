"""Plan a run: what it needs, how a step is made so that it fits, and how long it takes.

No weights are read unless a probe is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import find_model, is_packaged
from ragkit.model_size.config import parse_config, read_config
from ragkit.model_size.hardware import GIB, memory
from ragkit.model_size.size import encoder_size
from ragkit_tune.data.data_set import read_objects
from ragkit_tune.plan.batches import batch_note, count_steps, fit_batch
from ragkit_tune.plan.fit import (
    IN_BATCH,
    CardRow,
    Choice,
    Target,
    check_recipe,
    choices,
    choose,
    first_training,
    may_quantize,
    shardings,
    table,
)
from ragkit_tune.plan.flops import step_flops
from ragkit_tune.plan.lengths import Lengths, own_limit, read_lengths, tokenizer_file
from ragkit_tune.plan.memory import step_memory
from ragkit_tune.plan.probe import Measured, probe
from ragkit_tune.plan.shape import Shape, read_shape
from ragkit_tune.plan.time import Cost, cost, seconds

if TYPE_CHECKING:
    from ragkit_tune.data.data_set import DataSet
    from ragkit_tune.recipe import Recipe

_FEWEST_TOKENS: Final = 64  # of a row that a plan proposes; arbitrary
# With the holes that glibc keeps a process took up to 1.6 times the formula's peak.
_ROOM: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan; `recipe` has the chosen micro-batch, checkpointing, bits and sharding filled in.

    `choice` is None when nothing fits; then `remedy` says what would. `operations` are those of the
    whole run, on all devices; `duration_s` is None where neither a speed nor a probe is given.
    `scale` is the probe's peak divided by the formula's, and is in `peak_bytes`.
    """

    recipe: Recipe
    shape: Shape
    target: Target
    lengths: Lengths
    choice: Choice | None
    remedy: str
    steps: int
    step_tokens: int
    operations: float
    flop_per_s: float | None
    duration_s: float | None
    cost: Cost
    measured: Measured | None
    scale: float
    cards: tuple[CardRow, ...]
    notes: tuple[str, ...]

    @property
    def compact(self) -> bool:
        """Whether freed memory is to be given back at once, at the cost of time."""
        return self.choice is not None and _is_tight(self.choice, self.target)

    @property
    def peak_bytes(self) -> int:
        """Return the memory of a step on each device; 0 when nothing fits."""
        return round(self.choice.memory.peak * self.scale) if self.choice else 0


def make_plan(
    recipe: Recipe,
    data: DataSet,
    target: Target | None = None,
    *,
    measure: bool = False,
    python: Path | None = None,
    flop_per_s: float | None = None,
    watts: float | None = None,
    price: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Plan a run of a recipe on a data set. Raises UsageError, ModelError.

    `target` None is this machine. `measure` runs a probe of three steps, with the `python` that has
    the trainers. `flop_per_s` is the speed of one device, `watts` its power, `price` of its hour.
    """
    target = target or this_machine(recipe.gpus)
    check_recipe(recipe, target.gpus)
    config = _config(recipe.base)
    shape = read_shape(config, recipe.kind)
    rows = [row for _, row in read_objects(data.path("train"))]
    given, recipe = recipe, fit_batch(recipe, rows)
    lengths = _read_lengths(recipe, data, config)
    references = _references(recipe, shape)
    choice = choose(recipe, shape, lengths, target, references=references)
    measured, scale = None, 1.0
    if measure and choice:
        compact = _is_tight(choice, target)
        measured = probe(recipe, choice, lengths, python=python, compact=compact, progress=progress)
        scale = measured.peak_bytes / _on_one_device(choice, shape, lengths)
        flop_per_s = flop_per_s or _probed_speed(recipe, choice, shape, lengths, measured)
        choice = choose(recipe, shape, lengths, target, references=references, scale=scale)
    remedy = "" if choice else _remedy(recipe, shape, lengths, target, references, scale)
    steps = count_steps(recipe, lengths.rows)
    operations = steps * _step_operations(recipe, choice, shape, lengths)
    duration = seconds(operations / target.gpus, flop_per_s) if flop_per_s else None
    if duration and recipe.minutes:
        duration = min(duration, recipe.minutes * 60)
    return Plan(
        recipe=_filled(recipe, choice),
        shape=shape,
        target=target,
        lengths=lengths,
        choice=choice,
        remedy=remedy,
        steps=steps,
        step_tokens=round(sum(n * tokens for n, tokens in lengths.usual(recipe.batch))),
        operations=operations,
        flop_per_s=flop_per_s,
        duration_s=duration,
        cost=cost(duration or 0.0, target.gpus, watts=watts, price=price)
        if duration
        else Cost(None, None),
        measured=measured,
        scale=scale,
        cards=tuple(table(recipe, shape, lengths)),
        notes=(*batch_note(given, recipe, lengths.rows), *_notes(recipe, choice, lengths, target)),
    )


def this_machine(gpus: int = 1) -> Target:
    """Return the GPUs that the driver sees, or the memory that is free for this process."""
    import shutil

    from ragkit.store.server.tuning import this_machine as limits

    if shutil.which("nvidia-smi"):
        return Target(memory_bytes=memory("auto", None, gpus=gpus)[1], on_gpu=True, gpus=gpus)
    available = [limits().memory_bytes]
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            available.append(int(line.split()[1]) * 1024)
    return Target(memory_bytes=min(available), on_gpu=False, gpus=gpus)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except OSError:
        return []


def _config(base: str) -> dict[str, Any]:
    return read_config(str(find_model(base).folder) if is_packaged(base) else base)


def _is_tight(choice: Choice, target: Target) -> bool:
    """Tell whether a processor has too little memory for the holes that glibc's allocator keeps."""
    return not target.on_gpu and _ROOM * choice.memory.peak > target.usable_bytes


def _read_lengths(recipe: Recipe, data: DataSet, config: Mapping[str, Any]) -> Lengths:
    """Measure the rows, cut where the recipe or the model itself cuts them."""
    tokenizer = tokenizer_file(recipe.base)
    own = None
    if recipe.kind in {"embedder", "reranker"}:
        folder = tokenizer.parent if tokenizer else Path(recipe.base).expanduser()
        own = own_limit(folder, config)
    tokens = min(recipe.max_tokens, own or recipe.max_tokens)
    return read_lengths(replace(recipe, max_tokens=tokens), data, tokenizer)


def _references(recipe: Recipe, shape: Shape) -> int:
    """Count the parameters of a second model: a guide, or what a language model was before."""
    if recipe.loss == "gist" and recipe.teacher:
        return encoder_size(parse_config(_config(recipe.teacher)))
    preferences = recipe.kind == "adapter" and recipe.method != "sft"
    return shape.parameters if preferences and recipe.parameters == "full" else 0


def _on_one_device(choice: Choice, shape: Shape, lengths: Lengths) -> int:
    """Return the formula's peak for what the probe ran: one device and no second model."""
    training = replace(choice.training, gpus=1, sharding="ddp", references=0)
    return step_memory(shape, training, lengths.longest(choice.micro_batch)).peak


def _probed_speed(
    recipe: Recipe, choice: Choice, shape: Shape, lengths: Lengths, measured: Measured
) -> float:
    training = choice.training
    rows = recipe.batch // training.gpus if training.cached else choice.micro_batch
    operations = step_flops(shape, training, lengths.longest(rows))
    return operations * min(2, choice.accumulation) / measured.seconds


def _step_operations(
    recipe: Recipe, choice: Choice | None, shape: Shape, lengths: Lengths
) -> float:
    if choice is None:
        return 0.0
    size = choice.micro_batch
    return recipe.batch / size * step_flops(shape, choice.training, lengths.usual(size))


def _filled(recipe: Recipe, choice: Choice | None) -> Recipe:
    if choice is None:
        return recipe
    return replace(
        recipe,
        micro_batch=choice.micro_batch,
        checkpointing="on" if choice.training.checkpointing else "off",
        bits=choice.training.bits,
        sharding=choice.training.sharding,
    )


def _notes(recipe: Recipe, choice: Choice | None, lengths: Lengths, target: Target) -> list[str]:
    notes = []
    if not lengths.counted:
        longest = max(lengths.columns[0].tokens)
        notes.append(f"no tokenizer.json at hand: every row is taken as {longest} tokens")
    if choice is None:
        return notes
    if recipe.loss in IN_BATCH and choice.training.cached:
        notes.append(
            f"{recipe.loss} of {recipe.batch} rows is made in parts of {choice.micro_batch}, which"
            " takes a third more time"
        )
    if _is_tight(choice, target):
        notes.append(
            "less than twice the peak is free: memory is given back at once, at the cost of time"
        )
    if choice.training.bits != recipe.bits:
        notes.append(f"{choice.training.bits} bits instead of {recipe.bits}, which do not fit")
    return notes


def _remedy(
    recipe: Recipe,
    shape: Shape,
    lengths: Lengths,
    target: Target,
    references: int,
    scale: float,
) -> str:
    """Say in one line what the smallest step needs, and which change of the recipe would fit."""
    free = replace(recipe, micro_batch=0, checkpointing="auto")
    training = first_training(free, target, references=references)
    bits = 4 if may_quantize(free, target) else free.bits
    sharding = shardings(replace(free, sharding="auto"), target.gpus, bits)[-1]
    smallest = replace(training, sharding=sharding, bits=bits)
    ways = choices(free, shape, lengths, smallest)
    least = round(min(way.memory.peak for way in ways) * scale)
    needed = (
        f"nothing fits: a step of {recipe.base} needs {least / GIB:.1f} GiB at least, and"
        f" {target.usable_bytes / GIB:.1f} GiB are free for it"
    )
    for words, changed in _smaller(free, target):
        cut = lengths.cut(changed.max_tokens)
        if choose(changed, shape, cut, target, references=references, scale=scale):
            return f"{needed}: set {words}"
    return f"{needed}: take more memory, more GPUs, or a smaller model"


def _smaller(recipe: Recipe, target: Target) -> Iterator[tuple[str, Recipe]]:
    """Yield changes that save memory, as options: each alone, then LoRA and fewer tokens.

    Rows are refused or cut where they are longer, so that shorter ones are to be made as well.
    """
    yield "-o micro_batch=0 -o checkpointing=auto", recipe
    if target.on_gpu:
        yield "-o optimizer=adamw-8bit", replace(recipe, optimizer="adamw-8bit")
    words = ""
    tokens = recipe.max_tokens // 2
    if recipe.parameters == "full":
        lora = replace(recipe, parameters="lora")
        yield "-o parameters=lora", lora
        yield _fewer_tokens(tokens), replace(recipe, max_tokens=tokens)
        words, recipe = "-o parameters=lora ", lora
    while tokens >= _FEWEST_TOKENS:
        yield words + _fewer_tokens(tokens), replace(recipe, max_tokens=tokens)
        tokens //= 2


def _fewer_tokens(tokens: int) -> str:
    return f"-o max_tokens={tokens}, with rows made by `ragkit tune data --max-tokens {tokens}`"
