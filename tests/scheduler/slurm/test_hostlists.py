"""Lists of nodes, as Slurm's hostlist expressions have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.slurm.hostlists import compress, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ""),
        ("(null)", ""),
        ("None assigned", ""),
        ("n1", "n1"),
        ("n1,n2", "n1 n2"),
        ("n[1-4,7]", "n1 n2 n3 n4 n7"),
        ("n[1-2],gpu[009-010]-ib,login", "n1 n2 gpu009-ib gpu010-ib login"),
        ("rack[1-2]n[08-09]", "rack1n08 rack1n09 rack2n08 rack2n09"),
        ("n[7,3,05]", "n7 n3 n05"),
        ("n[98-101]", "n98 n99 n100 n101"),
        ("n[098-101].example.org", "n098.example.org n099.example.org n100.example.org n101.example.org"),
        ("a-b_c[1]", "a-b_c1"),
    ],
)
def test_a_list_stands_for_its_names_in_its_order(text, names):
    assert expand(text) == tuple(names.split())


@pytest.mark.parametrize(
    "text",
    [
        *("n[", "n]", "n[1", "n[1-", "n[]", "n[2-1]", "n[a-b]", "n[1-2]]", ",", "n1,", ",n1", "n1,,n2", "n 1", "n[1,]"),
        *(
            "n[1-99999999999]",
            "n[1-70000]",
            "n[1-300][1-300]",
            "n[[1-2]]",
            "n;1",
            "$(id)",
            "n[1-2]x y",
            "n[-1]",
            "n\n1",
        ),
    ],
)
def test_other_text_is_an_error_and_costs_nothing(text):
    with pytest.raises(ValueError):
        expand(text)


def test_leading_zeros_tell_nodes_apart():
    assert set(expand(compress(["n1", "n01", "n001", "n10"]))) == {"n1", "n01", "n001", "n10"}


@given(st.lists(st.from_regex(r"[a-z]{1,3}[0-9]{0,4}(-ib)?", fullmatch=True), max_size=60))
def test_compress_is_undone_by_expand(names):
    assert sorted(expand(compress(names))) == sorted(set(names))


def test_the_nodes_of_a_large_machine_fit_into_an_argument():
    text = compress(f"nid{number:05d}" for number in range(4392))
    assert text == "nid[00000-04391]"


@pytest.mark.parametrize("name", ["n 1", "n[1-2]", "", "a,b", "x;y", "é"])
def test_a_name_that_no_node_has_is_an_error(name):
    with pytest.raises(ValueError):
        compress([name])
