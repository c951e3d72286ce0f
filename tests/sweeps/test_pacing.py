"""The pace of a sweep: if one run is refused, all wait and then continue more slowly."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_funcs.sweeps.pacing import LONGEST, Pace


def pace(most: int = 32, draw: float = 0.0) -> Pace:
    return Pace(most, lambda: draw)


def test_as_many_go_as_are_asked_for_until_one_is_refused() -> None:
    """A sweep whose runs are accepted neither slows down nor waits."""
    steady = pace()
    for at in range(100):
        steady.accepted(at)
    assert steady.at_a_time(100.0) == 32
    assert steady.changes_in(100.0) is None


def test_the_service_says_how_long_all_wait() -> None:
    """Retry-After counts from the arrival of the refusal; then one run goes first."""
    refused = pace()
    assert refused.refused(10.0, sent=9.0, retry_after=7.0)
    assert refused.at_a_time(16.9) == 0
    assert refused.changes_in(12.0) == 5.0
    assert refused.at_a_time(17.0) == 1


@pytest.mark.parametrize(
    ("draw", "waits"),
    [(0.0, [1, 2, 4, 8, 16, 30, 30]), (1.0, [0.5, 1, 2, 4, 8, 15, 15])],
)
def test_without_a_wish_the_waits_double(draw: float, waits: list[float]) -> None:
    """Up to half a minute, and randomly shorter, so that two sweeps don't return together."""
    refused = pace(draw=draw)
    now = 0.0
    for wait in waits:
        refused.refused(now, sent=now, retry_after=None)
        assert refused.until - now == wait
        now = refused.until


def test_runs_under_way_together_slow_it_once() -> None:
    """Of 32 simultaneous refusals the first halves the concurrency, and the longest wait counts."""
    refused = pace()
    for at in range(32):
        assert refused.refused(
            10.0 + at / 100, sent=9.0, retry_after=5.0 if at else 3.0
        )
    assert refused.until == pytest.approx(15.31)
    refused.accepted(16.0)
    assert refused.at_a_time(16.0) == 16


def test_one_goes_first_and_its_answer_lets_the_others_follow() -> None:
    """After a wait one run is sent; the results of earlier runs don't count."""
    refused = pace()
    refused.refused(10.0, sent=9.0, retry_after=5.0)
    refused.accepted(9.5)
    assert refused.at_a_time(15.0) == 1
    refused.accepted(15.0)
    assert refused.at_a_time(15.1) == 16


def test_a_long_run_that_goes_first_holds_nobody_up() -> None:
    """A service refuses immediately: a run that is still running after 5 s was accepted."""
    refused = pace()
    refused.refused(10.0, sent=9.0, retry_after=5.0)
    assert refused.at_a_time(16.0) == 1
    assert refused.changes_in(16.0) == 4.0
    assert refused.at_a_time(20.0) == 16


def test_ten_results_let_one_more_go() -> None:
    """It returns to its first pace, by one more run per ten results, and not beyond."""
    refused = pace(4)
    refused.refused(0.0, sent=0.0, retry_after=0.0)
    refused.accepted(0.1)
    assert refused.at_a_time(1.0) == 2
    for _ in range(9):
        refused.accepted(0.1)
    assert refused.at_a_time(1.0) == 3
    for _ in range(100):
        refused.accepted(0.1)
    assert refused.at_a_time(1.0) == 4


def test_at_least_one_goes() -> None:
    """However often it is refused."""
    refused = pace(3)
    now = 0.0
    for _ in range(10):
        refused.refused(now, sent=now, retry_after=1.0)
        now = refused.until
    assert refused.at_a_time(now + 100) == 1


@pytest.mark.parametrize(
    ("wished", "is_worth_it"),
    [(LONGEST, True), (LONGEST + 1, False), (1e9, False), (None, True), (0.0, True)],
)
def test_a_long_wish_is_not_waited_for(wished: float | None, is_worth_it: Any) -> None:
    """At most five minutes at a time; the user is told of a longer one."""
    assert pace().refused(10.0, sent=9.0, retry_after=wished) is is_worth_it


def test_a_service_that_takes_nothing_is_left_after_five_minutes() -> None:
    """Many short waits count as one long one; an answer starts over."""
    refused = pace()
    now = 0.0
    waits = 0
    while refused.refused(now, sent=now, retry_after=20.0):
        now = refused.until
        waits = waits + 1
    assert waits == 15
    refused.accepted(now + 20)
    assert refused.refused(now + 21, sent=now + 20, retry_after=20.0)
