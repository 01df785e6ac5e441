from vilfredo.core.request import Sampling
from vilfredo.runner.rule import is_greedy


def test_greedy_is_temperature_zero_nearly_zero_or_one_candidate():
    assert all(is_greedy(Sampling(temperature=t)) for t in (0.0, 1e-300, 1e-6))
    assert is_greedy(Sampling(top_k=1))
    assert not is_greedy(Sampling(temperature=1e-3))
