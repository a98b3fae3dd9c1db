"""One question to a server, for tests of the endpoint."""

import asyncio
from typing import Any

from ragkit_eval.endpoint import Endpoint
from ragkit_eval.run.item import Item, Response, Task
from tests.eval.run.fake import FakeTask

ITEM = Item("1", "Two and two?\nAnswer:", ("B",), labels=tuple("ABCD"))


def ask(url: str, task: Task | None = None, item: Item = ITEM, **options: Any) -> Response:
    """Ask one item, by its letter unless told; waits between tries do not hold a test up."""
    asking = {name: options.pop(name) for name in ("chat", "special_tokens") if name in options}

    async def once() -> Response:
        quick = {"tries": 4, "backoff_s": 0.001, **options}
        async with Endpoint.open(url, "tiny", **quick) as endpoint:
            return await endpoint.ask_for(task or FakeTask((ITEM,)), **asking)(item)

    return asyncio.run(once())
