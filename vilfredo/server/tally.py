"""What is counted for every token. prometheus_client's own counters guard each change with locks;
these belong to the one event loop that changes and reads them, and cost next to nothing."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

LABELS = ("model_name",)


class Total(Collector):
    def __init__(self, name: str, text: str, model: str) -> None:
        self._names = name, text, model
        self._value = 0

    def add(self, amount: int) -> None:
        self._value += amount

    def collect(self) -> Iterator[Metric]:
        name, text, model = self._names
        family = CounterMetricFamily(name, text, labels=LABELS)
        family.add_metric([model], self._value)
        yield family


class Distribution(Collector):
    """A histogram; `bounds` rise, and a value belongs to the first that is not below it."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], model: str) -> None:
        self._names = name, text, model
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self._sum += value * times

    def collect(self) -> Iterator[Metric]:
        name, text, model = self._names
        family = HistogramMetricFamily(name, text, labels=LABELS)
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        family.add_metric([model], buckets, self._sum)
        yield family
