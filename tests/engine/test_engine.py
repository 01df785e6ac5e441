import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.core.request import Sampling
from vilfredo.core.step import Failed
from vilfredo.engine.engine import MOST_FAULTS, Engine
from vilfredo.engine.messages import Refused
from vilfredo.runner.fake import FakeRunner, continuation


def drain(engine: Engine) -> dict[str, list[int]]:
    outputs: dict[str, list[int]] = {}
    while engine.has_work:
        for delta in engine.step():
            outputs.setdefault(delta.id, []).extend(each.token for each in delta.tokens)
    return outputs


def test_requests_together_get_what_each_would_get_alone(make_plan, make_request):
    runner = FakeRunner()
    engine = Engine(make_plan(), runner, FakeClock())
    requests = [make_request(range(n, 2 * n + 1), max_tokens=1 + n % 7) for n in range(1, 20)]
    for request in requests:
        assert engine.submit(request) is None
    outputs = drain(engine)
    for request in requests:
        assert outputs[request.id] == continuation(request.prompt, request.limits.max_tokens)
    assert sorted(runner.forgotten) == sorted(request.id for request in requests)
    assert engine.step() == ()


def test_the_last_delta_says_why_it_is_the_last(make_plan, make_request):
    engine = Engine(make_plan(), FakeRunner(), FakeClock())
    engine.submit(make_request(max_tokens=2))
    first, second = engine.step(), engine.step()
    assert first[0].finish is None
    assert second[0].finish == "length"
    assert engine.stats().steps == 2
    assert engine.stats().blocks_used == 0


def test_cached_tokens_and_logprobs_are_passed_on(make_plan, make_request):
    engine = Engine(make_plan(), FakeRunner(), FakeClock())
    prompt = range(10)
    engine.submit(make_request(prompt, max_tokens=1))
    engine.step()
    engine.submit(make_request(prompt, max_tokens=1, sampling=Sampling(logprobs=2)))
    (delta,) = engine.step()
    assert delta.cached == 8
    assert delta.tokens[0].logprob == -1.0
    assert len(delta.tokens[0].top) == 2
    stats = engine.stats()
    assert (stats.prefix_queries, stats.prefix_hits) == (20, 8)


def test_what_can_never_succeed_is_answered_at_once(make_plan, make_request):
    engine = Engine(make_plan(context=8), FakeRunner(), FakeClock())
    delta = engine.submit(make_request(range(8)))
    assert delta is not None
    assert not isinstance(delta, Refused)
    assert delta.finish == "error"
    assert "8 tokens" in (delta.reason or "")


def test_a_full_queue_refuses(make_plan, make_request):
    engine = Engine(make_plan(max_waiting=1), FakeRunner(), FakeClock())
    assert engine.submit(make_request()) is None
    refused = engine.submit(make_request())
    assert isinstance(refused, Refused)
    assert refused.retry_after > 0


def test_cancelling_frees_everything_within_the_step(make_plan, make_request):
    runner = FakeRunner()
    engine = Engine(make_plan(), runner, FakeClock())
    engine.submit(make_request(id="gone", max_tokens=50))
    engine.step()
    assert engine.stats().blocks_used > 0
    engine.cancel("gone")
    engine.cancel("gone")
    assert engine.stats().blocks_used == 0
    assert not engine.has_work
    assert runner.forgotten == ["gone"]


def test_a_failing_step_ends_its_requests_and_not_the_engine(make_plan, make_request):
    faults = iter([True, False])

    def before(step):
        if next(faults, False):
            raise ZeroDivisionError("oops")

    engine = Engine(make_plan(), FakeRunner(before), FakeClock())
    engine.submit(make_request(id="unlucky"))
    (delta,) = engine.step()
    assert delta.finish == "error"
    assert delta.reason == "the step failed: ZeroDivisionError: oops"
    request = make_request()
    engine.submit(request)
    assert drain(engine)[request.id] == continuation(request.prompt, 5)


def test_steps_that_fail_again_and_again_are_the_engines_own_fault(make_plan, make_request):
    def before(step):
        raise ZeroDivisionError("oops")

    engine = Engine(make_plan(), FakeRunner(before), FakeClock())
    for _ in range(MOST_FAULTS - 1):
        engine.submit(make_request())
        engine.step()
    engine.submit(make_request())
    with pytest.raises(ZeroDivisionError):
        engine.step()


def test_a_prompt_under_way_gives_nothing_yet(make_plan, make_request):
    engine = Engine(make_plan(token_budget=4), FakeRunner(), FakeClock())
    engine.submit(make_request(range(10), max_tokens=1))
    assert engine.step() == ()
    assert engine.step() == ()
    assert engine.step()[0].finish == "length"


def test_a_row_that_fails_ends_its_request_alone(make_plan, make_request):
    class Half(FakeRunner):
        def launch(self, step):
            results = super().launch(step)
            return (Failed("not finite"), *results[1:])

    engine = Engine(make_plan(), Half(), FakeClock())
    bad, good = make_request(max_tokens=1), make_request((9, 9), max_tokens=1)
    engine.submit(bad)
    engine.submit(good)
    first, second = engine.step()
    assert (first.id, first.finish, first.reason) == (bad.id, "error", "not finite")
    assert (second.id, second.finish) == (good.id, "length")


def test_a_resumed_request_gives_only_new_tokens(make_plan, make_request):
    engine = Engine(make_plan(), FakeRunner(), FakeClock())
    whole = continuation((1, 2, 3), 5)
    request = make_request(output=tuple(whole[:2]))
    engine.submit(request)
    assert drain(engine)[request.id] == whole[2:]


def test_what_an_earlier_engine_accepted_is_never_refused(make_plan, make_request):
    """What ran and what waited comes back at once, and is more than the queue holds."""
    engine = Engine(make_plan(max_sequences=2, max_waiting=2), FakeRunner(), FakeClock())
    requests = [make_request((n,), max_tokens=6) for n in range(7)]
    for request in requests:
        assert engine.submit(request, accepted=True) is None
    assert (engine.stats().waiting, engine.stats().waiting_tokens) == (7, 7)
    newcomer = engine.submit(make_request())
    assert isinstance(newcomer, Refused)
    assert newcomer.reason == "5 requests of an engine that died wait already"
    engine.cancel(requests[3].id)
    assert engine.stats().waiting == 6
    outputs = drain(engine)
    del requests[3]
    assert outputs == {each.id: continuation(each.prompt, 6) for each in requests}
    assert engine.submit(make_request()) is None


def test_an_engine_whose_queue_is_empty_takes_back_what_is_longer_than_the_queue(
    make_plan, make_request
):
    engine = Engine(make_plan(max_waiting_tokens=4), FakeRunner(), FakeClock())
    requests = [make_request([n] * 20, max_tokens=3) for n in range(3)]
    for request in requests:
        assert engine.submit(request, accepted=True) is None
    assert drain(engine) == {each.id: continuation(each.prompt, 3) for each in requests}
