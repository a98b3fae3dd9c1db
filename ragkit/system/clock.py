"""Seconds per stage of a piece of work."""

from time import perf_counter


class Clock:
    """Seconds since the last stop, by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def stop(self, stage: str) -> None:
        """Add the time since the last stop, or the start, to a stage."""
        stopped_at = perf_counter()
        self.seconds[stage] = stopped_at - self._last
        self._last = stopped_at
