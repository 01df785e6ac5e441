import signal

import pytest

from vilfredo.cli.interrupt import interrupts


def test_the_first_is_noted_the_second_raised_and_all_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with interrupts() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with interrupts() as interrupted:
        assert not interrupted()
