import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.step import Sampled
from vilfredo.engine.messages import (
    Cancel,
    Command,
    Delta,
    Deltas,
    Died,
    Event,
    Ready,
    Refused,
    Stats,
    Stop,
    Submit,
)
from vilfredo.engine.wire import Frames, Inbox, frame

REQUEST = Request(
    id="é",
    prompt=(1, 2**31),
    limits=Limits(3, frozenset({7, 8})),
    sampling=Sampling(temperature=0.5, logit_bias=((3, -100.0),), seed=2**63, logprobs=0),
    tenant="t",
    session="s",
    deadline=1.5,
    output=(4,),
)
COMMANDS = [Submit(REQUEST), Cancel("é"), Stop()]
EVENTS = [
    Ready(),
    Deltas((Delta("a", (Sampled(1, -0.5, ((1, -0.5), (2, -3.0))),), "stop"),), Stats(steps=1)),
    Refused("a", "full", 1.5),
    Died("no"),
]


@given(st.data())
def test_messages_arrive_whole_however_the_bytes_are_cut(data):
    for messages, kind in ((COMMANDS, Command), (EVENTS, Event)):
        stream = b"".join(map(frame, messages))
        cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=8)))
        frames = Frames(kind)
        arrived = []
        for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            arrived.extend(frames.feed(stream[begin:end]))
        assert arrived == messages


def test_the_inbox_waits_only_where_it_is_told_to():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inbox: Inbox[Command] = Inbox(ours, Command)
        assert inbox.take(wait=False) == []
        theirs.sendall(frame(Cancel("a"))[:3])
        assert inbox.take(wait=False) == []
        theirs.sendall(frame(Cancel("a"))[3:] + frame(Stop()))
        assert inbox.take(wait=True) == [Cancel("a"), Stop()]


def test_an_end_is_an_end_whether_polite_or_not():
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(EOFError):
        Inbox(ours, Command).take(wait=True)
    ours.close()

    class Broken:
        def recv(self, count, flags):
            raise ConnectionResetError

    with pytest.raises(EOFError):
        Inbox(Broken(), Command).take(wait=False)  # pyright: ignore[reportArgumentType]


def test_all_that_came_is_taken_and_the_end_told_after_it():
    """Also where it fills exactly what is read at once."""
    ours, theirs = socket.socketpair()
    inbox: Inbox[Command] = Inbox(ours, Command)
    empty = len(frame(Cancel("")))
    whole = Cancel("x" * ((1 << 16) - empty - 2))  # the length of a long text takes 2 bytes more
    assert len(frame(whole)) == 1 << 16
    with theirs:
        theirs.sendall(frame(whole) + frame(Cancel("a")))
        assert inbox.take(wait=True) == [whole, Cancel("a")]
        assert inbox.take(wait=False) == []
        theirs.sendall(frame(whole))
        assert inbox.take(wait=True) == [whole]
        theirs.sendall(frame(whole))
    assert inbox.take(wait=True) == [whole]
    with ours, pytest.raises(EOFError):
        inbox.take(wait=True)
