from vilfredo.core.request import Limits, Request
from vilfredo.core.sequence import Sequence
from vilfredo.sched.order import Queue


def waiting(name: str, tokens: int) -> Sequence:
    return Sequence(Request(name, (0,) * tokens, Limits(1)), 0.0)


def test_first_come_first_served_and_who_gave_way_goes_before():
    queue = Queue()
    for name, tokens in (("a", 1), ("b", 2), ("c", 4)):
        queue.push(waiting(name, tokens))
    queue.restore(waiting("later", 8))
    queue.restore(waiting("earlier", 16))
    assert (len(queue), queue.tokens) == (5, 31)
    order: list[str] = []
    while queue:
        order.append(queue.head.request.id)
        queue.remove(order[-1])
    assert order == ["earlier", "later", "a", "b", "c"]
    assert queue.tokens == 0


def test_any_may_leave():
    queue = Queue()
    first, second = waiting("a", 3), waiting("b", 5)
    queue.push(first)
    queue.push(second)
    assert queue.remove("b") is second
    assert queue.remove("b") is None
    assert ("a" in queue, "b" in queue) == (True, False)
    assert (queue.head, queue.tokens) == (first, 3)
