"""The profile's parts are the step: nothing is lost between them, nothing counted twice."""

import json

import pytest

from vilfredo.base.settings import Settings
from vilfredo.engine.assemble import assemble
from vilfredo.engine.profile import StepProfile, profile, rows, trace
from vilfredo.ops.choose import tables


@pytest.fixture(scope="module", params=[tables()[0], "reference"])
def steps(request, tiny_gguf):
    settings = Settings(model=str(tiny_gguf), table=request.param, threads=2, packed_cache="off")
    return profile(assemble(settings), prompt=5, batch=3, tokens=4)


def test_every_step_is_there(steps):
    assert [step.rows for step in steps if step.decodes] == [3, 3, 3]
    assert sum(step.rows for step in steps if not step.decodes) == 3 * 5
    assert all(step.phases.keys() == {"launch", "forward", "sample"} for step in steps)


def test_parts_add_up_to_the_step(steps):
    for step in steps:
        native = sum(call.end - call.begin for call in step.calls)
        parts = step.parts()
        assert native + sum(parts.values()) == step.nanoseconds
        assert all(part >= 0 for part in parts.values())
        assert all(step.begin <= call.begin <= call.end <= step.end for call in step.calls)


def test_rows_add_up_to_the_mean_step(steps):
    decodes = [step for step in steps if step.decodes]
    mean = sum(step.nanoseconds for step in decodes) / len(decodes) / 1e6
    found = rows(decodes)
    assert sum(row.milliseconds for row in found) == pytest.approx(mean)
    assert all(0 <= row.waited <= row.milliseconds for row in found)


def test_a_trace_is_json_with_a_lane_each(steps):
    events = json.loads(json.dumps(trace(steps)))["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in complete} == {0, 1, 2}
    assert all(event["dur"] >= 0 for event in complete)
    assert len([event for event in complete if event["tid"] == 0]) == len(steps)


def test_a_cold_profile_includes_the_recording(tiny_gguf):
    settings = Settings(model=str(tiny_gguf), table="reference", threads=1, packed_cache="off")
    cold = profile(assemble(settings), prompt=2, batch=1, tokens=2, warm=False)
    assert [step.rows for step in cold] == [2, 1]


def test_a_step_that_computed_nothing_is_all_scheduling():
    step = StepProfile(begin=5, end=9)
    assert step.parts() == {name: 4 if "schedule" in name else 0 for name in step.parts()}
