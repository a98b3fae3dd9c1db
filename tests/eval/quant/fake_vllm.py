"""A program that stands in for vLLM: it knows every answer, a model named "small" every other one.

It insists on the key, and ends at once on SIGTERM.
"""

import argparse
import os
import sys
from typing import Any

from aiohttp import web

options = argparse.ArgumentParser()
options.add_argument("--served-model-name")
options.add_argument("--host")
options.add_argument("--port", type=int)
parsed, _ = options.parse_known_args(sys.argv[1:])


@web.middleware
async def checked(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.headers.get("Authorization") != f"Bearer {os.environ['VLLM_API_KEY']}":
        return web.Response(status=401)
    answer: web.StreamResponse = await handler(request)
    return answer


async def health(request: web.Request) -> web.Response:
    return web.Response()


async def models(request: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": parsed.served_model_name, "owned_by": "vllm"}]})


async def complete(request: web.Request) -> web.Response:
    prompt = (await request.json())["prompt"]
    wrong = parsed.served_model_name == "small" and int(prompt.split()[1].rstrip("?")) % 2
    top = {" B": -0.1, " A": -3.0} if wrong else {" A": -0.1, " B": -3.0}
    choice = {"text": next(iter(top)), "finish_reason": "stop", "logprobs": {"top_logprobs": [top]}}
    return web.json_response({"choices": [choice]})


app = web.Application(middlewares=[checked])
app.router.add_get("/health", health)
app.router.add_get("/v1/models", models)
app.router.add_post("/v1/completions", complete)
web.run_app(app, host=parsed.host, port=parsed.port, print=None)
