from vilfredo.engine.messages import Stats
from vilfredo.engine.totals import Totals


def stats(steps: int, running: int) -> Stats:
    return Stats(steps, running, 2, 9, 4, 64, 10 * steps, 5 * steps, steps)


def test_counters_go_on_over_deaths_and_the_rest_begins_anew():
    totals = Totals(64)
    assert totals.now == Stats(blocks_total=64)
    totals.take(stats(3, running=1))
    totals.take(stats(5, running=2))
    assert totals.now == stats(5, running=2)
    totals.engine_died()
    assert totals.now == Stats(5, 0, 0, 0, 0, 64, 50, 25, 5)
    totals.take(stats(2, running=1))
    totals.engine_died()
    totals.take(stats(1, running=1))
    assert totals.now == Stats(8, 1, 2, 9, 4, 64, 80, 40, 8)
