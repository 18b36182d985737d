from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces import InputError, format_duration, parse_duration, parse_limit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.25", 0.25),
        ("30:00", 1800),
        ("90:00", 5400),
        ("1:00:00", 3600),
        ("100:00:00", 360000),
        ("2-12", 216000),
        ("2-12:30", 217800),
        ("1-02:03:04", 93784),
        ("00:00:01.500", 1.5),
        ("00:30.25", 30.25),
        ("90s", 90),
        ("10m", 600),
        ("1.5h", 5400),
        ("2d", 172800),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1d 2h 3m 4s", 93784),
        ("500ms", 0.5),
        (" 10M ", 600),
        ("UNLIMITED", math.inf),
        ("Infinite", math.inf),
        ("inf", math.inf),
    ],
)
def test_every_form_of_slurm_and_of_people_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "-5",
        "1:60",
        "1:60:00",
        "1:2:3:4",
        "1-24",
        "1-02.5",
        "1h2h",
        "30m1h",
        "1e3",
        "nan",
        "٣",
        "1 2",
        "h",
        "1" * 100,
    ],
)
def test_what_is_no_duration_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(InputError, match=r"accepted are seconds \(90\).*UNLIMITED") as caught:
        parse_duration(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["Partition_Limit", "NOT_SET", "", "Unknown", "UNLIMITED"])
def test_a_limit_that_the_record_does_not_tell_is_infinite(text: str) -> None:
    assert parse_limit(text) == math.inf


def test_a_duration_for_people_is_short() -> None:
    assert format_duration(0) == "0s"
    assert format_duration(0.25) == "0.25s"
    assert format_duration(59.9999) == "1m"
    assert format_duration(5400) == "1h 30m"
    assert format_duration(93784) == "1d 2h 3m 4s"
    assert format_duration(-60) == "-1m"
    assert format_duration(math.inf) == "unlimited"
    assert format_duration(math.nan) == "unknown"


@given(st.integers(0, 10**9))
def test_whole_seconds_come_back_from_their_text(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, 59_999))
def test_milliseconds_come_back_below_a_minute(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, abs=1e-9)


@given(st.text(max_size=80))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        assert parse_duration(text) >= 0
