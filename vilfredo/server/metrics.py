"""What the server measures of itself, for Prometheus, under the names that the field knows.

Every app has a registry of its own; nothing here is global.
"""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from vilfredo.engine.door import Door
from vilfredo.server.tally import Distribution, Total

ENDS = ("stop", "length", "abort", "error", "refused")
FIRST_TOKEN = (
    *(0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0),
)
INTER_TOKEN = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 10.0),
)
WHOLE = (
    *(0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0),
)


class Metrics:
    def __init__(self, door: Door, model: str) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Engine(door, model))
        self.first_token = self._distribution(
            "time_to_first_token_seconds", "Arrival to first token", FIRST_TOKEN, model
        )
        self.inter_token = self._distribution(
            "inter_token_latency_seconds", "Token to token", INTER_TOKEN, model
        )
        self.whole = self._distribution(
            "e2e_request_latency_seconds", "Arrival to last token", WHOLE, model
        )
        self.prompt_tokens = self._total("prompt_tokens", "Of requests that ended", model)
        self.generation_tokens = self._total("generation_tokens", "Given to clients", model)
        ends = Counter(
            "vilfredo:request_success",
            "Choices that ended, by why: abort, error and refused are no success",
            ["model_name", "finished_reason"],
            registry=self.registry,
        )
        self.ends = {reason: ends.labels(model, reason) for reason in ENDS}
        self.http = Counter(
            "vilfredo:http_requests",
            "Answers by route and status; 499: the client left first",
            ["path", "status"],
            registry=self.registry,
        )

    def _distribution(
        self, name: str, text: str, bounds: tuple[float, ...], model: str
    ) -> Distribution:
        distribution = Distribution(f"vilfredo:{name}", text, bounds, model)
        self.registry.register(distribution)
        return distribution

    def _total(self, name: str, text: str, model: str) -> Total:
        total = Total(f"vilfredo:{name}", text, model)
        self.registry.register(total)
        return total


class _Engine(Collector):
    """Asks the engine when it is asked, and keeps nothing."""

    def __init__(self, door: Door, model: str) -> None:
        self._door = door
        self._model = model

    def collect(self) -> Iterator[Metric]:
        stats = self._door.stats()
        usage = stats.blocks_used / stats.blocks_total
        yield self._gauge("num_requests_running", "In the batch", stats.running)
        yield self._gauge("num_requests_waiting", "In the queue", stats.waiting)
        yield self._gauge("kv_cache_usage_perc", "Of 1; what is only cached is free", usage)
        yield self._counter("prefix_cache_queries", "Prompt tokens looked up", stats.prefix_queries)
        yield self._counter("prefix_cache_hits", "Prompt tokens found", stats.prefix_hits)
        yield self._counter("num_preemptions", "Sequences that gave way", stats.preemptions)

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        family = GaugeMetricFamily(f"vilfredo:{name}", text, labels=["model_name"])
        family.add_metric([self._model], value)
        return family

    def _counter(self, name: str, text: str, value: float) -> Metric:
        family = CounterMetricFamily(f"vilfredo:{name}", text, labels=["model_name"])
        family.add_metric([self._model], value)
        return family


async def scrape(metrics: Metrics, request: Request) -> Response:
    """`GET /metrics`"""
    return Response(
        generate_latest(metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST}
    )
