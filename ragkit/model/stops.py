"""End a streamed text before the first stop string, which may be spread over pieces."""

from collections.abc import Sequence


class Stops:
    """Passes text on up to the first of `stops`; `met` once one has come.

    >>> stops = Stops(["END"])
    >>> stops.feed("one E"), stops.feed("ND two"), stops.met
    ('one ', '', True)
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.met = False
        self._stops = [stop for stop in stops if stop]
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what is certain to stand before any stop string."""
        if self.met:
            return ""
        self._held += piece
        positions = [self._held.find(stop) for stop in self._stops if stop in self._held]
        if positions:
            self.met = True
            text, self._held = self._held[: min(positions)], ""
            return text
        held_chars = max((_begun(self._held, stop) for stop in self._stops), default=0)
        text = self._held[: len(self._held) - held_chars]
        self._held = self._held[len(text) :]
        return text

    def end(self) -> str:
        """Return what was held back because it looked like the beginning of a stop string."""
        text, self._held = self._held, ""
        return text


def _begun(text: str, stop: str) -> int:
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((size for size in sizes if stop.startswith(text[-size:])), 0)
