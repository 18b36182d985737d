"""The table of options, what is made from it, and the Python parser."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.options import OPTIONS, JobOptions, Kind, canonical, from_record, from_variables, pages
from slurm_plugins import c_table
from traces import InputError

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_are_those_of_the_table() -> None:
    page = (ROOT / pages.FLAGS_PAGE).read_text()
    again = "; write them anew with: python -m scheduler.options.pages"
    assert page == pages.flags_page(page), f"docs/flags.md{again}"
    assert (ROOT / pages.MANUAL_PAGE).read_text() == pages.manual_page(), f"the manual page{again}"


def test_the_python_parser_has_the_tables_options() -> None:
    assert {field.name for field in dataclasses.fields(JobOptions)} == {option.key for option in OPTIONS}


def test_rows_are_fit_for_c_and_for_slurms_help() -> None:
    for option in OPTIONS:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", option.flag)
        assert len(option.flag) <= 40, "the C side builds names in buffers of 64 bytes"
        assert len(option.accepted) < 160, "the C side builds messages in a buffer of 512 bytes"
        assert "%" not in option.usage
        assert 0 <= option.minimum <= option.maximum < 2**53, "JSON and Lua hold no larger integer"
        assert (option.kind in {Kind.SIZE, Kind.TIME}) == bool(option.example)
        assert all(word == word.lower() and word.isalpha() for word in option.words)


def test_examples_are_accepted() -> None:
    for option in OPTIONS:
        for example in filter(None, option.example.split(", ")):
            canonical(option, example)


def test_the_c_table_takes_no_text_that_could_leave_its_string() -> None:
    good = OPTIONS[0]
    assert r"\"quoted\"" in c_table.source([dataclasses.replace(good, usage='a "quoted" word')])
    for bad in ("line\nbreak", "caf\u00e9", "trigraph ??/"):
        with pytest.raises(ValueError, match="no plain ASCII"):
            c_table.source([dataclasses.replace(good, usage=bad)])


def test_variables_are_read_as_the_plugin_reads_them() -> None:
    found = from_variables(
        {"TIERWISE_ON_DEMAND": "2m", "TIERWISE_HBM": "", "TIERWISE_CHECKPOINT_EVERY": "none", "X": "y"}
    )
    assert found == JobOptions(on_demand=120.0, checkpoint_every="none")
    assert found.given() == {"on_demand": 120.0, "checkpoint_every": "none"}
    with pytest.raises(InputError, match=r"^TIERWISE_HBM \(for --hbm\): 'lots' is not accepted"):
        from_variables({"TIERWISE_HBM": "lots"})


def test_a_record_is_believed_only_in_form() -> None:
    record = {
        "tierwise": 1,
        "on_demand": 120,
        "slo": 0.25,
        "tier_class": "latency",
        "hbm": 2.5,
        "tier_dram": 1,
        "tier_share": "../x",
        "colocate": 1,
        "restart_cost": True,
        "checkpoint_cost": 1e99,
        "checkpoint_every": "none",
        "unknown": [],
    }
    assert from_record(json.dumps(record)) == JobOptions(
        on_demand=120, slo=0.25, tier_class="latency", checkpoint_every="none"
    )


@pytest.mark.parametrize(
    "text",
    ["", "ticket 7", "[]", "{}", '{"tierwise":2}', '{"tierwise":1', "{" * 4000, '{"tierwise":1,"x":"' + "a" * 5000],
)
def test_what_is_no_record_is_none(text: str) -> None:
    assert from_record(text) is None


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists)
RECORDS = JSON.map(lambda value: json.dumps({"tierwise": 1, "on_demand": value, "tier_share": value, "hbm": value}))


@given(st.text() | RECORDS)
def test_no_admin_comment_breaks_the_reader(text: str) -> None:
    from_record(text)
