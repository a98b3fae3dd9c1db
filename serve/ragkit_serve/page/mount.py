"""Put the chat page on an app: at / what Gradio serves, under /ui what is our own.

It must be the last thing that is put on it, because at / it takes every path that is left.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.routing import Mount

from ragkit_serve.page.frontend import Frontend
from ragkit_serve.page.words import LANGUAGES

if TYPE_CHECKING:
    from fastapi import FastAPI


def mount(app: FastAPI) -> None:
    """Put the chat page on the app, whose gate says who calls."""
    # Read once, when it is imported: nothing is reported to its makers.
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    import gradio as gr

    from ragkit_serve.page import answer_stream, passage, routes
    from ragkit_serve.page.page import page, theme
    from ragkit_serve.page.suggestions import Suggestions

    app.include_router(answer_stream.router)
    app.include_router(passage.router)
    app.include_router(routes.router)
    app.state.suggestions = Suggestions()
    pages = {}
    for language in LANGUAGES:
        gr.mount_gradio_app(
            app,
            page(language),
            path="/",
            theme=theme(),
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            show_error=False,
            blocked_paths=["/"],  # were its routes of files ever reached, they would refuse
            max_file_size=0,
            mcp_server=False,
            pwa=False,
        )
        mounted = app.router.routes.pop()
        assert isinstance(mounted, Mount), "what was put on it last"
        pages[language] = mounted.app
    app.mount("/", Frontend(pages))
