"""The page's frame in Gradio, in one language: side bar, tabs, and the field for a question.

It has no events: the page's own scripts (static/) fill the empty columns and ask the server. So
Gradio is never handed anything that a client sends.
"""

from __future__ import annotations

import json
from typing import Final

import gradio as gr

from ragkit_serve.page.words import WORDS, Language

# What people type and read is in a system font: nothing is loaded for it.
FONTS: Final = ("system-ui", "Segoe UI", "Roboto", "PingFang SC", "Microsoft YaHei", "sans-serif")
MONO: Final = ("ui-monospace", "Consolas", "Noto Sans Mono CJK SC", "monospace")


def theme() -> gr.themes.Base:
    """Return Gradio's default theme with fonts that every machine has."""
    return gr.themes.Default(primary_hue="teal", font=list(FONTS), font_mono=list(MONO))


def page(language: Language) -> gr.Blocks:
    """Lay the page out in a language."""
    words = WORDS[language]
    blocks: gr.Blocks = gr.Blocks(title="ragkit", analytics_enabled=False, fill_width=True)
    with blocks:
        gr.Textbox(json.dumps(words), visible="hidden", elem_id="rk-words")
        with gr.Sidebar(width=300, elem_id="rk-side"):
            gr.Button(words["new"], elem_id="rk-new", size="md")
            gr.Column(elem_id="rk-choices")
            gr.Column(elem_id="rk-list")
        with gr.Tabs(elem_id="rk-tabs"):
            with gr.Tab(words["chat"], id="chat"):
                gr.Column(elem_id="rk-transcript")
                _composer(language)
            with gr.Tab(words["documents"], id="documents"):
                gr.Column(elem_id="rk-documents")
            with gr.Tab(words["retrieval"], id="search"):
                gr.Column(elem_id="rk-retrieval")
    return blocks


def _composer(language: Language) -> None:
    words = WORDS[language]
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
