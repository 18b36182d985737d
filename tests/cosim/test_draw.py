"""Durations that are drawn, and how people write them."""

from __future__ import annotations

import numpy as np
import pytest

from cosim.draw import Draw, parse
from traces.errors import InputError


def sample(draw: Draw, size: int = 20_000) -> np.ndarray:
    return draw.sample(np.random.default_rng(1), size)


def test_a_constant_is_the_same_for_every_job():
    assert sample(Draw("constant", 60.0), 3).tolist() == [60.0, 60.0, 60.0]


def test_a_uniform_draw_stays_between_its_ends_and_reaches_for_both():
    drawn = sample(Draw("uniform", 100.0, 200.0))
    assert 100 <= drawn.min() < 101
    assert 199 < drawn.max() <= 200
    assert abs(drawn.mean() - 150) < 1


def test_an_exponential_draw_has_its_mean():
    drawn = sample(Draw("exponential", 30.0))
    assert abs(drawn.mean() - 30) < 1
    assert abs(np.median(drawn) - 30 * np.log(2)) < 1


def test_a_lognormal_draw_has_its_median_and_spread():
    drawn = sample(Draw("lognormal", 40.0, 0.5))
    assert abs(np.median(drawn) - 40) < 1
    assert abs(np.log(drawn).std() - 0.5) < 0.02


def test_the_same_seed_draws_the_same():
    draw = Draw("exponential", 30.0)
    assert (sample(draw, 5) == sample(draw, 5)).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10m", Draw("constant", 600.0)),
        ("0", Draw("constant", 0.0)),
        ("uniform:5m:1h", Draw("uniform", 300.0, 3600.0)),
        ("exponential:20m", Draw("exponential", 1200.0)),
        ("lognormal:10m:0.5", Draw("lognormal", 600.0, 0.5)),
    ],
)
def test_what_people_write_is_read(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("uniform:1h:5m", r"the most \(5m\) is below the least \(1h\)"),
        ("uniform:5m", "uniform takes the least and the most"),
        ("exponential:5m:6m", "exponential takes the mean"),
        ("lognormal:5m:-1", "sigma is '-1', expected a number from 0 to 10"),
        ("lognormal:5m:wide", "sigma is 'wide'"),
        ("lognormal:5m:nan", "sigma is 'nan'"),
        ("often", "often"),
        ("UNLIMITED", "between zero and infinity"),
        ("constant:5m", "constant:5m"),
        ("", "is no duration"),
    ],
)
def test_what_is_no_duration_is_refused_with_what_is_expected(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse(text)
