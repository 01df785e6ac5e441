"""When a dead engine is started again, and when that is pointless."""

from collections import deque
from dataclasses import dataclass

MOST_DELAY = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Patience:
    deaths: int = 5  # that are forgiven
    seconds: float = 60.0  # within so long
    delay: float = 0.1  # seconds before the first new start; doubled with each death
    crashes: int = 3  # engines that one request may outlive before it is held to be the cause


class Supervisor:
    """Counts deaths. An engine that never got ready will not do so the next time either."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._deaths: deque[float] = deque()

    def delay(self, now: float, was_ready: bool) -> float | None:
        """Seconds to wait before the next start after a death at `now`; None: give up."""
        while self._deaths and now - self._deaths[0] > self._patience.seconds:
            self._deaths.popleft()
        self._deaths.append(now)
        if not was_ready and len(self._deaths) == 1:
            return None
        if len(self._deaths) > self._patience.deaths:
            return None
        return min(MOST_DELAY, self._patience.delay * 2 ** (len(self._deaths) - 1))
