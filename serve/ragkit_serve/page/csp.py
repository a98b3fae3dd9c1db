"""What a browser is told about our pages: nothing from elsewhere, nothing inline, no frames.

Styles may be inline: Gradio's page sets them from its script all over. Scripts may not, but for
those of its index page, by nonce; nor may anything be evaluated, which `gr.HTML` alone would need
and is therefore not used here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = b"content-security-policy"
# For whatever is no page of ours: it shows nothing and runs nothing.
NOTHING: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    # Not no-referrer: forms would then send `Origin: null`, which the gate refuses.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()",
    ),
)


def policy(nonce: str) -> str:
    """Return the policy of a page of ours whose own scripts carry the nonce."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


class Protected:
    """ASGI middleware: every answer has the headers, and a policy where it brings none itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [(name, value) for name, value in HEADERS if name not in present]
                if POLICY not in present:
                    added.append((POLICY, NOTHING.encode()))
                if not present & {b"cache-control", b"etag"}:  # a file has its own
                    added.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, sending)
