import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import Overloaded
from vilfredo.engine.engine import Engine
from vilfredo.engine.inline import run
from vilfredo.runner.fake import FakeRunner, continuation


def test_every_request_is_answered(make_plan, make_request):
    requests = [make_request((n,), max_tokens=n) for n in range(1, 12)]
    outputs = {request.id: [] for request in requests}
    for delta in run(Engine(make_plan(), FakeRunner(), FakeClock()), requests):
        outputs[delta.id].extend(sampled.token for sampled in delta.tokens)
    for request in requests:
        assert outputs[request.id] == continuation(request.prompt, request.limits.max_tokens)


def test_leaving_early_cancels(make_plan, make_request):
    engine = Engine(make_plan(), FakeRunner(), FakeClock())
    deltas = run(engine, [make_request(max_tokens=50)])
    next(deltas)
    deltas.close()
    assert not engine.has_work


def test_a_request_that_cannot_succeed_is_told_among_the_others(make_plan, make_request):
    engine = Engine(make_plan(), FakeRunner(), FakeClock())
    deltas = list(run(engine, [make_request(()), make_request(max_tokens=1)]))
    assert [delta.finish for delta in deltas] == ["error", "length"]


def test_too_many_requests_are_refused_and_none_is_left_behind(make_plan, make_request):
    engine = Engine(make_plan(max_waiting=2), FakeRunner(), FakeClock())
    with pytest.raises(Overloaded):
        list(run(engine, [make_request() for _ in range(3)]))
    assert not engine.has_work
