"""Compared with prometheus_client's own, which nobody could tell apart from what is scraped."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import generate_latest

from vilfredo.server.tally import Distribution, Total

BOUNDS = (0.5, 1.0, 20.0)


def scraped(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


@pytest.mark.parametrize("values", [[], [0.5], [0.1, 0.5, 0.7, 1.0, 3.0, 21.0, 1e9]])
def test_a_distribution_reads_like_a_histogram(values) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    distribution = Distribution("a:b", "What it is", BOUNDS, "tiny")
    ours.register(distribution)
    histogram = Histogram("a:b", "What it is", ["model_name"], buckets=BOUNDS, registry=theirs)
    for value in values:
        distribution.observe(value)
        distribution.observe(value, 2)
        for _ in range(3):
            histogram.labels("tiny").observe(value)
    histogram.labels("tiny")
    assert scraped(ours) == scraped(theirs)


def test_a_total_reads_like_a_counter() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    total = Total("a:b", "What it is", "tiny")
    ours.register(total)
    counter = Counter("a:b", "What it is", ["model_name"], registry=theirs).labels("tiny")
    for amount in (3, 4):
        total.add(amount)
        counter.inc(amount)
    assert scraped(ours) == scraped(theirs)
