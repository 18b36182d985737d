"""The syntax of values: one in C and in Python, and the one that the rest of Tierwise reads."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from values_in_c import Values

from scheduler.options.parsing import typed
from scheduler.options.table import BY_KEY, OPTIONS, Kind, Option
from scheduler.options.values import canonical
from traces import InputError, parse_duration

PIECES = st.sampled_from(
    [
        *"0123456789.:-_ kKmMgGtTpPsShHdDwWiIbB'\"\\%$`\0\n\r\t\x1b\x7f",
        *("ms", "GiB", "none", "latency", "1h30m", "99999999999999999999", "18446744073709551616", "0.0005"),
        *("\u00e9", "\u0663", "\u212a", "\u202e", "\ud800"),  # no ASCII: among them a digit and a K
    ]
)
WRITTEN = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=70)
RAW = WRITTEN.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=80)
SYNTAX = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def in_python(option: Option, raw: bytes, by_variable: bool = False) -> tuple[bool, str]:
    where = f"{option.variable} (for --{option.flag})" if by_variable else None
    try:
        return True, canonical(option, raw.decode("utf-8", "surrogateescape"), where)
    except InputError as error:
        return False, f"tierwise: {error}"


@given(option=st.sampled_from(OPTIONS), raw=RAW, by_variable=st.booleans())
@example(option=BY_KEY["on_demand"], raw=b"1h30m", by_variable=False)
@example(option=BY_KEY["on_demand"], raw=b"1h\x0030m", by_variable=False)
@example(option=BY_KEY["tier_share"], raw=b"a" * 64, by_variable=False)
@example(option=BY_KEY["tier_share"], raw=b"a" * 65, by_variable=True)
@example(option=BY_KEY["tier_share"], raw=b"\xff" * 300, by_variable=True)
@example(option=BY_KEY["slo"], raw=b"", by_variable=False)
@SYNTAX
def test_c_and_python_agree_on_every_value_and_complaint(
    c_values: Values, option: Option, raw: bytes, by_variable: bool
) -> None:
    assert c_values.ask(option, raw, by_variable) == in_python(option, raw, by_variable)


@st.composite
def sizes(draw: st.DrawFn) -> str:
    number = draw(st.from_regex(r"([0-9]{1,20}(\.[0-9]{1,4})?|\.[0-9]{1,4})", fullmatch=True))
    return number + draw(st.sampled_from(["", " "])) + draw(st.from_regex(r"([kmgtpKMGTP]?i?[bB]?)", fullmatch=True))


@st.composite
def times(draw: st.DrawFn) -> str:
    number = r"([0-9]{1,9}(\.[0-9]{1,10})?|\.[0-9]{1,10})"
    parts = draw(st.lists(st.from_regex(number + r" ?(ms|s|m|h|d|w)?", fullmatch=True), min_size=1, max_size=4))
    clock = draw(st.from_regex(r"([0-9]{1,3}-)?[0-9]{1,3}(:[0-9]{1,2}){0,3}(\.[0-9]{1,10})?", fullmatch=True))
    return draw(st.sampled_from(["".join(parts), " ".join(parts), clock]))


@given(text=sizes(), option=st.sampled_from([option for option in OPTIONS if option.kind is Kind.SIZE]))
@SYNTAX
def test_c_and_python_agree_on_near_sizes(c_values: Values, text: str, option: Option) -> None:
    assert c_values.ask(option, text.encode()) == in_python(option, text.encode())


@given(text=times(), option=st.sampled_from([option for option in OPTIONS if option.kind is Kind.TIME]))
@SYNTAX
def test_c_and_python_agree_on_near_times(c_values: Values, text: str, option: Option) -> None:
    assert c_values.ask(option, text.encode()) == in_python(option, text.encode())


@given(text=times() | WRITTEN)
@settings(max_examples=300, deadline=None)
def test_times_are_what_the_rest_of_tierwise_reads(text: str) -> None:
    with contextlib.suppress(InputError):
        seconds = float(canonical(BY_KEY["on_demand"], text))
        assert math.isclose(seconds, parse_duration(text), abs_tol=0.00051)


@given(text=times())
@settings(max_examples=200, deadline=None)
def test_what_the_rest_of_tierwise_reads_is_accepted_within_the_bounds(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except InputError:
        return
    decimals = max((len(part) for part in text.replace(":", " ").split(".")[1:]), default=0)
    if 1 <= seconds <= 2591999 and decimals < 9:
        canonical(BY_KEY["on_demand"], text)


@given(option=st.sampled_from(OPTIONS), raw=RAW)
@settings(max_examples=200, deadline=None)
def test_a_canonical_value_is_its_own_canonical_form(option: Option, raw: bytes) -> None:
    accepted, found = in_python(option, raw)
    if accepted:
        assert canonical(option, found) == found
        typed(option, found)


@given(option=st.sampled_from(OPTIONS), raw=RAW, by_variable=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_complaint_is_one_harmless_line_that_names_the_option(option: Option, raw: bytes, by_variable: bool) -> None:
    accepted, line = in_python(option, raw, by_variable)
    if not accepted:
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 400
        assert f"--{option.flag}" in line
        assert (option.variable in line) == by_variable
        assert option.accepted in line


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("on_demand", "0", "0"),
        ("on_demand", "2m", "120"),
        ("on_demand", "30:00", "1800"),
        ("on_demand", "1-00", "86400"),
        ("slo", "250ms", "0.25"),
        ("slo", ".5", "0.5"),
        ("checkpoint_every", "None", "none"),
        ("tier_dram", "2G", "2147483648"),
        ("tier_dram", "1.5GiB", "1610612736"),
        ("tier_far", "0", "0"),
        ("tier_class", " Latency ", "latency"),
        ("tier_share", "genome.v2", "genome.v2"),
    ],
)
def test_values_have_one_canonical_form(key: str, text: str, expected: str) -> None:
    assert canonical(BY_KEY[key], text) == expected


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("on_demand", "soon"),
        ("on_demand", "-1"),
        ("on_demand", "31d"),
        ("on_demand", "unlimited"),
        ("on_demand", "30m1h"),
        ("on_demand", "1e3"),
        ("tier_dram", "4096"),
        ("tier_dram", "2X"),
        ("tier_dram", "2Gi"),
        ("hbm", "9P"),
        ("tier_share", "-x"),
        ("tier_share", "a b"),
        ("tier_share", "../x"),
        ("tier_class", "fast"),
        ("colocate", ""),
    ],
)
def test_anything_else_is_refused(key: str, text: str) -> None:
    with pytest.raises(InputError, match=f"^--{BY_KEY[key].flag}: .*is not accepted; expected "):
        canonical(BY_KEY[key], text)
