"""The page's layout in Gradio, in one language, and which of its controls does what.

The transcript, the list of conversations and the source panel are filled in by the page's own
script (static/ragkit.js), which reads the settings from a hidden field. No event uses Gradio's
queue and nothing is kept between events, so that any process can answer any of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import gradio as gr

from ragkit.errors import RagkitError
from ragkit.knowledge import PASSAGES
from ragkit_serve.api.access import caller_of
from ragkit_serve.api.errors import api_error
from ragkit_serve.ui.acts import Acts
from ragkit_serve.ui.words import WORDS, Language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragkit.library import Caller
    from ragkit_serve.services import Services

MODES: Final = ("hybrid", "dense", "lexical")
MAX_PASSAGES: Final = 50
HIT_WIDTHS: Final[list[str | int]] = [
    "60px",
    "170px",
    "60px",
    "80px",
    "90px",
    "90px",
    "90px",
    "90px",
    "520px",
]
POLL_S: Final = 1.0  # arbitrary: between two looks at the files on their way
# Files that were sent and never taken over are looked for, and deleted, after an hour.
KEPT_S: Final = (3600, 3600)
# What people type and read is in a system font: nothing is loaded for it.
FONTS: Final = ("system-ui", "Segoe UI", "Roboto", "PingFang SC", "Microsoft YaHei", "sans-serif")
MONO: Final = ("ui-monospace", "Consolas", "Noto Sans Mono CJK SC", "monospace")


def theme() -> gr.themes.Base:
    """Return Gradio's default theme with fonts that every machine has."""
    return gr.themes.Default(primary_hue="teal", font=list(FONTS), font_mono=list(MONO))


def page(services: Services, language: Language) -> gr.Blocks:
    """Lay the page out in a language."""
    blocks: gr.Blocks = gr.Blocks(
        title="ragkit", analytics_enabled=False, fill_width=True, delete_cache=KEPT_S
    )
    with blocks:
        _Page(services, language).build(blocks)
    return blocks


class _Page:
    """The controls of one page, and what they need to act."""

    def __init__(self, services: Services, language: Language) -> None:
        self.words: Mapping[str, str] = WORDS[language]
        self.acts = Acts(services, self.words)

    def build(self, blocks: gr.Blocks) -> None:
        words = self.words
        gr.Textbox(json.dumps(words), visible="hidden", elem_id="rk-words")
        self.options = gr.Textbox(visible="hidden", elem_id="rk-options")
        with gr.Sidebar(width=300, elem_id="rk-side"):
            self._side()
        with gr.Tabs(elem_id="rk-tabs"):
            with gr.Tab(words["chat"], id="chat"):
                self._chat()
            with gr.Tab(words["documents"], id="documents") as tab:
                self._documents(tab)
            with gr.Tab(words["retrieval"], id="search"):
                self._search()
        self._begin(blocks)

    def _side(self) -> None:
        words = self.words
        gr.Button(words["new"], elem_id="rk-new", size="md")
        self.collection = _unchecked(
            gr.Dropdown([], label=words["collection"], elem_id="rk-collection")
        )
        with gr.Accordion(words["settings"], open=False, elem_id="rk-settings"):
            self.only = _unchecked(
                gr.Dropdown([], multiselect=True, label=words["only"], info=words["only_hint"])
            )
            modes = [(words[f"mode_{mode}"], mode) for mode in MODES]
            self.mode = gr.Radio(modes, value="hybrid", label=words["mode"])
            self.passages = gr.Slider(
                1, MAX_PASSAGES, value=PASSAGES, step=1, label=words["passages"]
            )
        gr.Column(elem_id="rk-list")

    def _chat(self) -> None:
        words = self.words
        gr.Column(elem_id="rk-transcript")
        with gr.Row(elem_id="rk-composer"):
            gr.Textbox(
                show_label=False,
                container=False,
                label=words["question"],
                placeholder=words["question_hint"],
                lines=1,
                max_lines=8,
                max_length=32_000,
                autofocus=True,
                scale=1,
                elem_id="rk-question",
            )
            gr.Button(words["send"], variant="primary", scale=0, min_width=90, elem_id="rk-send")
            gr.Button(words["stop"], variant="stop", scale=0, min_width=90, elem_id="rk-stop")

    def _documents(self, tab: gr.Tab) -> None:
        words = self.words
        self.note = gr.Textbox(show_label=False, container=False, visible=False, elem_id="rk-note")
        with gr.Row():
            self.wanted = gr.Textbox(label=words["find_document"], scale=1)
            refresh = gr.Button(words["refresh"], scale=0, min_width=110)
        columns = ("number", "document", "language", "passages", "characters", "version", "uri")
        headers = ["URI" if one == "uri" else words[f"column_{one}"] for one in columns]
        self.table = gr.Dataframe(
            headers=headers,
            datatype="str",
            interactive=False,
            max_height=320,
            elem_id="rk-documents",
        )
        self.shown = _said()
        self._uploading()
        self.chosen = gr.Textbox(visible="hidden")
        self.text = gr.Textbox(
            label=words["document_text"],
            placeholder=words["choose_document"],
            lines=12,
            max_lines=24,
            interactive=False,
            elem_id="rk-document-text",
        )
        self.delete = gr.Button(words["delete_document"], visible=False, elem_id="rk-delete")
        again = [self.collection, self.wanted], [self.table, self.shown, self.note]
        self._on(tab.select, self.acts.list, *again)
        self._on(refresh.click, self.acts.list, *again)
        self._on(self.wanted.submit, self.acts.list, *again)
        self._on(
            self.table.select,
            self.acts.read,
            [],
            [self.text, self.chosen, self.delete, self.note],
            event=True,
        )
        self._on(
            self.delete.click,
            self.acts.delete,
            [self.chosen, self.collection, self.wanted],
            [self.table, self.shown, self.text, self.delete, self.note],
        )

    def _uploading(self) -> None:
        words = self.words
        with gr.Column(visible=False) as self.adding:
            files = gr.File(
                file_count="multiple", label=words["upload"], height=130, elem_id="rk-upload"
            )
            self.jobs = gr.Textbox(visible="hidden")
            columns = [words[f"column_{one}"] for one in ("file", "state", "note")]
            self.ways = gr.Dataframe(
                headers=columns,
                datatype="str",
                interactive=False,
                wrap=True,
                visible=False,
                buttons=[],
                show_label=False,
                label=words["uploads"],
                elem_id="rk-ways",
            )
        timer = gr.Timer(POLL_S, active=False)
        self._on(
            files.upload,
            self.acts.upload,
            [files, self.collection, self.jobs],
            [files, self.jobs, self.ways, timer, self.note],
        )
        self._on(
            timer.tick,
            self.acts.progress,
            [self.jobs, self.collection, self.wanted],
            [self.ways, timer, self.table, self.shown, self.note],
        )

    def _search(self) -> None:
        words = self.words
        note = gr.Textbox(show_label=False, container=False, visible=False)
        with gr.Row():
            query = gr.Textbox(label=words["query"], scale=1, elem_id="rk-query")
            go = gr.Button(words["search"], scale=0, min_width=110, elem_id="rk-search")
        said = _said()
        names = ("rank", "document", "page", "fused", "dense", "dense_rank", "lexical")
        columns = [words[f"column_{one}"] for one in (*names, "lexical_rank", "text")]
        found = gr.Dataframe(
            headers=columns,
            datatype="str",
            interactive=False,
            max_height=480,
            wrap=True,
            column_widths=HIT_WIDTHS,
            buttons=[],
            elem_id="rk-hits",
        )
        times = gr.Dataframe(
            headers=[words["column_stage"], words["column_ms"]],
            datatype="str",
            interactive=False,
            buttons=[],
            elem_id="rk-stages",
        )
        given = [query, self.collection, self.only, self.mode, self.passages]
        for listener in (go.click, query.submit):
            self._on(listener, self.acts.find, given, [found, times, said, note])

    def _begin(self, blocks: gr.Blocks) -> None:
        """Fill in what depends on the caller, and keep the settings where the script reads them."""
        note = gr.Textbox(visible="hidden")
        outputs = [self.collection, self.only, self.adding, self.options, note]
        self._on(blocks.load, self.acts.load, [], outputs)
        settings = [self.collection, self.only, self.mode, self.passages]
        self._on(
            self.collection.input,
            self.acts.choose,
            settings,
            [self.only, self.options, self.table, self.shown, note],
        )
        # One event for all of them, one at a time: a slow answer never overtakes a later one.
        chosen = [self.only.input, self.mode.input, self.passages.change]
        listener = partial(gr.on, chosen, trigger_mode="always_last")
        self._on(listener, self.acts.options, settings, [self.options, note])

    def _on(
        self,
        listener: Callable[..., Any],
        act: Callable[..., Any],
        inputs: list[Any],
        outputs: list[Any],
        *,
        event: bool = False,
    ) -> None:
        """Have an event call `act(caller, *values)`; the last output is where a failure is told."""

        def call(request: gr.Request, *values: Any) -> Any:
            return self._told(act, _caller(request), values, len(outputs) - 1)

        def call_selected(request: gr.Request, selected: gr.SelectData) -> Any:
            values = (selected.row_value,)
            return self._told(act, _caller(request), values, len(outputs) - 1)

        listener(
            call_selected if event else call,
            inputs,
            outputs,
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )

    def _told(
        self, act: Callable[..., tuple[Any, ...]], caller: Caller, values: Sequence[Any], count: int
    ) -> tuple[Any, ...]:
        """Act; return `count` outputs and no note, or a note of what failed and nothing else."""
        try:
            return *act(caller, *values), gr.update(value="", visible=False)
        except RagkitError as error:
            known = self.words.get(f"error_{api_error(error).code}")
            said = self.words["failed"].format(reason=known) if known else str(error)
            return *(gr.skip() for _ in range(count)), gr.update(value=said, visible=True)


def _unchecked(dropdown: gr.Dropdown) -> gr.Dropdown:
    """Take a dropdown's value as it comes: its choices are known to one process alone.

    Gradio compares a value with the choices that this process gave this browser. With several
    processes another may have; whoever uses the value checks that it is there for the caller.
    """

    def preprocess(value: object) -> object:
        if dropdown.multiselect:
            return [one for one in value if type(one) is int] if isinstance(value, list) else []
        return value if isinstance(value, str) else None

    setattr(dropdown, "preprocess", preprocess)  # noqa: B010  mypy: one assigns to no method
    return dropdown


def _said() -> gr.Textbox:
    """Return a line of text that looks like one."""
    return gr.Textbox(
        show_label=False, container=False, interactive=False, elem_classes=["rk-said"]
    )


def _caller(request: gr.Request) -> Caller:
    """Return whom the gate let in with an event: without a queue it is the request's own scope."""
    assert request.request is not None, "an event comes with its request"
    return caller_of(request.request.scope)
