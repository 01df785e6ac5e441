from vilfredo.base.clock import Clock, FakeClock, SystemClock


def test_a_fake_clock_moves_only_when_told():
    clock = FakeClock(5.0)
    assert (clock.now(), clock.now()) == (5.0, 5.0)
    clock.advance(2.5)
    assert clock.now() == 7.5


def test_the_systems_clock_never_goes_back():
    clock: Clock = SystemClock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)
