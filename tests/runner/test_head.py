import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.runner.head import HEAD, heads


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, HEAD, HEAD + 1, 3000]),
    st.sampled_from([0.1, 1.0, 4.0, 20.0]),
    st.lists(st.sampled_from([1e-4, 0.1, 0.7, 0.99, 1.0, 1.3, 50.0]), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_rest_lies_between_its_bounds_and_rows_stand_alone(
    seed, vocabulary, spread, temperatures, bans
):
    random = np.random.default_rng(seed)
    logits = (random.standard_normal((len(temperatures), vocabulary)) * spread).astype(np.float32)
    if bans:
        logits[:, random.permutation(vocabulary)[: vocabulary - 1 - vocabulary // 3]] = -np.inf
    ids = np.argsort(-logits, axis=1, kind="stable")[:, :HEAD].astype(np.int32)
    values = np.take_along_axis(logits, ids, axis=1)
    exact = logits.astype(np.float64) - values[:, :1]
    logsumexp = (values[:, 0] + np.log(np.exp(exact).sum(axis=1))).astype(np.float32)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = heads(ids, values, logsumexp, temperatures, vocabulary)
    for row, (head, temperature) in enumerate(zip(found, temperatures, strict=True)):
        weights = np.exp(exact[row] / temperature)
        total = weights.sum()
        assert np.allclose(head.cumulated, weights[ids[row]].cumsum())
        slack = 1e-5 * total
        rest = total - head.cumulated[-1]
        assert head.least_rest - slack <= rest <= head.most_rest + slack
        one = slice(row, row + 1)
        (alone,) = heads(ids[one], values[one], logsumexp[one], [temperature], vocabulary)
        assert alone.cumulated == head.cumulated
        assert (alone.least_rest, alone.most_rest) == (head.least_rest, head.most_rest)
