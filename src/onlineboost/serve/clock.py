"""Journal time: seconds since 1970 that never go back, even if the machine's clock does."""

from __future__ import annotations

import time


class Clock:
    """The time of new events. It starts at the last event's and follows the machine's clock, but never backwards.

    While the machine's clock is behind, journal time goes on by the seconds that pass.

    >>> clock = Clock(last=2e9, wall=lambda: 1e9, passed=iter([0.0, 5.0]).__next__)
    >>> clock.now(), clock.behind()
    (2000000005.0, 1000000005.0)
    """

    def __init__(self, last: float = 0.0, wall: object = time.time, passed: object = time.monotonic) -> None:
        self._wall, self._passed = wall, passed
        self._last, self._at = last, self._passed()  # type: ignore[operator]

    def now(self) -> float:
        """The time for an event that is written now."""
        at: float = self._passed()  # type: ignore[operator]
        self._last = max(self._last + (at - self._at), self._wall())  # type: ignore[operator]
        self._at = at
        return self._last

    def follow(self, last: float) -> None:
        """Adopt the time of an event of another journal."""
        self._last = max(self._last, last)

    def behind(self) -> float:
        """Seconds by which the machine's clock is behind journal time."""
        return max(self._last - self._wall(), 0.0)  # type: ignore[operator, no-any-return]
