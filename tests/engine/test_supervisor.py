from vilfredo.engine.supervisor import MOST_DELAY, Patience, Supervisor


def test_delays_grow_and_patience_ends():
    supervisor = Supervisor(Patience(deaths=3, seconds=60))
    delays = [supervisor.delay(float(now), was_ready=True) for now in range(4)]
    assert delays[:3] == [0.1, 0.2, 0.4]
    assert delays[3] is None


def test_old_deaths_are_forgiven():
    supervisor = Supervisor(Patience(deaths=1, seconds=10))
    assert supervisor.delay(0.0, was_ready=True) == 0.1
    assert supervisor.delay(20.0, was_ready=True) == 0.1
    assert supervisor.delay(21.0, was_ready=True) is None


def test_an_engine_that_never_got_ready_is_not_tried_again():
    assert Supervisor(Patience()).delay(0.0, was_ready=False) is None


def test_an_engine_that_once_ran_is_tried_again_even_if_a_start_fails():
    supervisor = Supervisor(Patience())
    assert supervisor.delay(0.0, was_ready=True) is not None
    assert supervisor.delay(1.0, was_ready=False) is not None


def test_delays_have_a_bound():
    supervisor = Supervisor(Patience(deaths=20))
    assert [supervisor.delay(0.0, was_ready=True) for _ in range(20)][-1] == MOST_DELAY
