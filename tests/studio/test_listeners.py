"""Listeners hear what is recorded."""

import pytest

from tinyjax import monitoring


@pytest.fixture
def heard():
    yield []
    monitoring.clear_event_listeners()


def test_a_listener_hears_events_of_its_kind(heard):
    monitoring.register_event_listener(lambda *args, **more: heard.append((args, more)))
    monitoring.record_event("/saved", step=3)
    monitoring.record_scalar("/loss", 0.5)
    assert heard == [(("/saved",), {"step": 3})]


@pytest.mark.parametrize(
    "kind, numbers",
    [("event_duration_secs", [2.0]), ("event_time_span", [1.0, 3.0]), ("scalar", [4])],
)
def test_a_listener_hears_numbers(heard, kind, numbers):
    getattr(monitoring, f"register_{kind}_listener")(lambda *args: heard.append(args))
    getattr(monitoring, f"record_{kind}")("/event", *numbers)
    assert heard == [("/event", *numbers)]


def test_one_that_is_taken_away_hears_no_more(heard):
    monitoring.register_scalar_listener(heard.append)
    monitoring.unregister_scalar_listener(heard.append)
    monitoring.record_scalar("/loss", 0.5)
    assert heard == []


def test_one_that_was_never_there_cannot_be_taken_away(heard):
    with pytest.raises(AssertionError, match="not registered as a listener to time spans"):
        monitoring.unregister_event_time_span_listener(heard.append)
