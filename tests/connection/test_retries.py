"""Retries depend on what a failure proves, a budget and a circuit breaker; these tests use no clock."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jupyter_funcs.connection.retries import (
    Admission,
    Breaker,
    Budget,
    Proof,
    Purpose,
    parse_retry_after,
    pause,
    proof_of_status,
)
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session


@pytest.fixture(autouse=True)
def _start_afresh() -> None:
    """Nothing is sent here, so the real pauses cost nothing."""


PROOFS = st.sampled_from(Proof)
PURPOSES = st.sampled_from(Purpose)
NOW = 1_800_000_000.0


def date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("proof", "listing", "run", "sweep", "change", "kept"),
    [
        (Proof.NOT_SENT, 2, 2, 2, 2, 2),
        (Proof.REFUSED, 2, 2, 0, 0, 2),
        (Proof.BROKEN, 2, 1, 1, 0, 0),
        (Proof.UNANSWERED, 1, 0, 0, 0, 0),
        (Proof.FAILED, 1, 0, 0, 0, 0),
        (Proof.FINAL, 0, 0, 0, 0, 0),
    ],
)
def test_what_a_failure_proves_decides_how_often_it_is_sent_again(
    proof: Proof, listing: int, run: int, sweep: int, change: int, kept: int
) -> None:
    """The table of FAULTS.md, "Retrying", row by row; a sweep resends refused runs itself, except for changes."""
    for purpose, times in zip(
        Purpose, (listing, run, sweep, change, kept), strict=True
    ):
        allowed = [
            done
            for done in range(5)
            if pause(proof, purpose, done=done, left=100) is not None
        ]
        assert allowed == list(range(times))


@pytest.mark.parametrize(
    ("status", "proof"),
    [
        *[
            (status, Proof.FINAL)
            for status in (
                206,
                301,
                307,
                400,
                401,
                403,
                404,
                405,
                409,
                413,
                415,
                418,
                422,
            )
        ],
        (408, Proof.BROKEN),
        (429, Proof.REFUSED),
        (500, Proof.FAILED),
        (501, Proof.FAILED),
        (502, Proof.BROKEN),
        (503, Proof.REFUSED),
        (504, Proof.UNANSWERED),
        (599, Proof.BROKEN),
    ],
)
def test_each_status_proves_something(status: int, proof: Proof) -> None:
    """A failure of the service may be retried; a rejected request is final."""
    assert proof_of_status(status) is proof


@given(
    PROOFS,
    PURPOSES,
    st.integers(0, 5),
    st.floats(-10, 400),
    st.none() | st.floats(0, 1e6),
    st.integers(0, 2),
    st.floats(0, 1),
)
def test_a_pause_is_short_fits_and_stays_within_every_bound(
    proof: Proof,
    purpose: Purpose,
    done: int,
    left: float,
    wished: float | None,
    most: int,
    drawn: float,
) -> None:
    """At most two retries, at least a second before the deadline; Retry-After is followed or not waited for."""
    seconds = pause(
        proof,
        purpose,
        done=done,
        left=left,
        retry_after=wished,
        most=most,
        draw=lambda: drawn,
    )
    if seconds is None:
        return
    assert done < most <= 2
    assert proof is not Proof.FINAL
    assert left - seconds >= 1
    if wished is None:
        assert 0 <= seconds <= min(8, 0.5 * 2**done)
    else:
        assert seconds == wished <= 30
    # More time, a larger bound of the user's and fewer tries never turn a retry down.
    assert (
        pause(
            proof,
            purpose,
            done=0,
            left=left + 8,
            retry_after=wished,
            most=2,
            draw=lambda: drawn,
        )
        is not None
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0 "}, 0),
        ({"retry-after": "9999"}, 9999),
        *[
            ({"retry-after": junk}, None)
            for junk in (
                "-1",
                "nan",
                "inf",
                "1e3",
                "٣",
                "soon",
                "7; 8",
                "0x10",
                "9" * 400,
            )
        ],
        ({"retry-after": date(NOW + 12)}, 12),
        ({"retry-after": date(NOW - 12)}, 0),
        # The service's clock an hour ahead, or behind: its own date says how long it means.
        ({"retry-after": date(NOW + 3612), "date": date(NOW + 3600)}, 12),
        ({"retry-after": date(NOW - 3588), "date": date(NOW - 3600)}, 12),
        ({"retry-after": date(NOW + 12), "date": "yesterday"}, 12),
        ({"retry-after": "Mon, 99 Foo 2026 00:00:00 GMT"}, None),
    ],
    ids=row_id,
)
def test_retry_after_is_seconds_a_date_or_nothing(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Any value is a number of seconds from 0, or ignored (FAULTS 34-36)."""
    assert parse_retry_after(headers, NOW) == seconds


@pytest.fixture(
    params=["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati"]
)
def _zone(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A time zone of this process."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system has no time zone of a process")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def asctime(seconds: float) -> str:
    return time.asctime(time.gmtime(seconds))


@pytest.mark.fault(163)
@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": " 2. "}, 2),
        ({"retry-after": "5, 10"}, 10),
        ({"retry-after": "10,5,2.5"}, 10),
        ({"retry-after": "soon, 3"}, 3),
        ({"retry-after": f"{date(NOW + 5)}, {date(NOW + 9)}"}, 9),
        ({"retry-after": f"20, {date(NOW + 9)}"}, 20),
        ({"retry-after": date(NOW + 12)}, 12),
        ({"retry-after": asctime(NOW + 12)}, 12),
        ({"retry-after": f"{asctime(NOW + 5)}, {asctime(NOW + 7)}"}, 7),
        ({"retry-after": date(NOW + 12).replace("GMT", "-0000")}, 12),
        ({"retry-after": date(NOW + 12).replace("GMT", "+0000")}, 12),
        ({"retry-after": date(NOW + 7212).replace("GMT", "+0200")}, 12),
        ({"retry-after": date(NOW + 12).replace(" GMT", "")}, 12),
        (
            {
                "retry-after": datetime.fromtimestamp(NOW + 12, UTC).strftime(
                    "%A, %d-%b-%y %H:%M:%S GMT"
                )
            },
            12,
        ),
        ({"retry-after": asctime(NOW + 3612), "date": asctime(NOW + 3600)}, 12),
        ({"retry-after": asctime(NOW + 3612), "date": date(NOW + 3600)}, 12),
        ({"retry-after": ","}, None),
    ],
    ids=str,
)
def test_retry_after_is_read_as_it_is_meant_in_any_time_zone(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Fractions, every form of a date, without a zone in UTC, and of a list the longest."""
    assert parse_retry_after(headers, NOW) == seconds


@pytest.mark.fault(163)
def test_a_fraction_of_a_second_is_waited(answering: Callable[..., Session]) -> None:
    """The next request is not sent earlier."""
    moments: list[float] = []

    def answer(_: httpx.Request) -> httpx.Response:
        moments.append(time.monotonic())
        if len(moments) == 1:
            return httpx.Response(429, headers={"retry-after": "0.3"})
        return httpx.Response(200, json={"error": None, "body": '[{"n": 1}]'})

    session = answering(answer, listing=[{"name": "F", "params": []}])
    assert len(session["F"]()) == 1
    assert moments[1] - moments[0] >= 0.29


@given(st.text(max_size=40))
def test_any_text_is_read_as_a_wish(text: str) -> None:
    """No value of the header makes parsing fail."""
    seconds = parse_retry_after({"retry-after": text, "date": text}, NOW)
    assert seconds is None or 0 <= seconds < math.inf


def test_a_dead_service_gets_ten_retries() -> None:
    """Five after time-outs; each success earns a fifth of a retry back, up to the maximum."""
    budget = Budget()
    assert [budget.take(timed_out=False) for _ in range(12)] == [True] * 10 + [
        False
    ] * 2
    for _ in range(5):
        budget.succeeded()
    assert budget.take(timed_out=False)
    assert not budget.take(timed_out=False)
    for _ in range(500):
        budget.succeeded()
    assert [budget.take(timed_out=True) for _ in range(6)] == [True] * 5 + [False]


def test_five_failures_within_a_minute_open_the_breaker_and_each_failed_probe_doubles_the_time() -> (
    None
):
    """15 s at first, then 30, 60, 120 and 120; one probe at a time; its answer closes the breaker."""
    breaker = Breaker(draw=lambda: 0.5)
    for second in range(4):
        breaker.failed(second, breaker.admit(second))
    assert breaker.admit(4) == Admission(0.0)
    breaker.failed(4, Admission(0.0))
    now = 4.0
    for span in (15, 30, 60, 120, 120):
        assert breaker.admit(now + span - 1).wait == pytest.approx(1)
        now += span
        probe = breaker.admit(now)
        assert probe == Admission(0.0, is_probe=True)
        assert breaker.admit(now).wait > 0
        assert breaker.admit(now, force=True) == Admission(0.0)
        breaker.failed(now, probe)
    probe = breaker.admit(now + 120)
    breaker.dropped(probe)
    assert breaker.admit(now + 120).is_probe
    breaker.answered()
    assert breaker.admit(now + 120) == Admission(0.0)
    assert not breaker.is_open


def test_failures_that_are_far_apart_or_not_in_a_row_open_nothing() -> None:
    """Five within 61 s, or an answer among them."""
    breaker = Breaker()
    for second in (0, 15, 30, 45, 61):
        breaker.failed(second, breaker.admit(second))
    assert not breaker.is_open
    for second in range(4):
        breaker.answered() if second == 2 else breaker.failed(
            100 + second, Admission(0.0)
        )
    breaker.failed(104, Admission(0.0))
    assert not breaker.is_open


class Origin(RuleBasedStateMachine):
    """Requests that start and end in any order and any way as time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.breaker = Breaker()
        self.budget = Budget()
        self.under_way: list[Admission] = []
        # The failures since the last answer, as far as they count.
        self.row: list[float] = []
        self.closed_since: float | None = 0.0
        self.retries = self.successes = 0

    @rule(seconds=st.floats(0.001, 200))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(force=st.booleans())
    def ask(self, force: bool) -> None:
        was_open = self.breaker.is_open
        admission = self.breaker.admit(self.now, force=force)
        if admission.wait == 0:
            # While it is open only one goes, as the probe, but for those that are forced.
            assert force or not was_open or admission.is_probe
            self.under_way.append(admission)
        else:
            assert was_open
            assert not force
            assert admission.wait <= 120 * 1.2

    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        if self.under_way:
            self.under_way.remove(data.draw(st.sampled_from(self.under_way)))
            self.breaker.answered()
            self.budget.succeeded()
            self.successes += 1
            self.row = []
            assert not self.breaker.is_open
            assert self.breaker.admit(self.now) == Admission(0.0)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        if self.under_way:
            admission = data.draw(st.sampled_from(self.under_way))
            self.under_way.remove(admission)
            was_open = self.breaker.is_open
            if not was_open:
                self.row.append(self.now)
            self.breaker.failed(self.now, admission)
            if was_open:
                assert self.breaker.is_open
            else:
                opens = len(self.row) >= 5 and self.row[-1] - self.row[-5] <= 60
                assert self.breaker.is_open is opens
            if self.breaker.is_open:
                self.row = []

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if self.under_way:
            admission = data.draw(st.sampled_from(self.under_way))
            self.under_way.remove(admission)
            was_open = self.breaker.is_open
            self.breaker.dropped(admission)
            assert self.breaker.is_open is was_open

    @rule(timed_out=st.booleans())
    def retry(self, timed_out: bool) -> None:
        self.retries += self.budget.take(timed_out=timed_out)

    @invariant()
    def bounds_hold(self) -> None:
        assert 0 <= self.budget.left <= 50
        assert self.retries * 5 <= 50 + self.successes

    @invariant()
    def a_probe_comes_in_time(self) -> None:
        # Whatever happened, a service is never left alone for longer than the longest time.
        if self.breaker.is_open and not any(
            admission.is_probe for admission in self.under_way
        ):
            later = self.breaker.admit(self.now + 120 * 1.2)
            assert later.is_probe
            self.breaker.dropped(later)


def test_what_was_sent_before_the_breaker_opened_anew_is_no_probe_of_it() -> None:
    """A probe that fails late, after an answer and new failures, doesn't lengthen the pause."""
    breaker = Breaker(draw=lambda: 0.5)
    for _ in range(5):
        breaker.failed(0, Admission(0.0))
    late = breaker.admit(15)
    breaker.answered()
    for _ in range(5):
        breaker.failed(16, Admission(0.0))
    probe = breaker.admit(31)
    breaker.failed(32, late)
    assert not breaker.admit(32).is_probe
    breaker.failed(32, probe)
    assert breaker.admit(32).wait == pytest.approx(30)


TestOrigin = Origin.TestCase
