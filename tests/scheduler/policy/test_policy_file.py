"""The policy file: every mistake has its line, and every value its origin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scheduler.cli.policy import app
from scheduler.policy import Policy, Rule, Who, check, effective, load, pages
from scheduler.policy.model import BUILT_IN
from traces.errors import InputError

GOOD = """\
[defaults]
on_demand = false
checkpoint_every = "30m"

[partition.batch]
exempt_time = "5m"   # at least five minutes of peace

[qos.urgent]
on_demand = true
on_demand_max_delay = "10m"

[user."alice smith"]
delay_weight = 2
"""


@pytest.fixture
def write(tmp_path: Path):
    def make(text: str) -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(text)
        return path

    return make


def test_a_stronger_scope_wins_and_each_value_names_its_line(write) -> None:
    path = write(GOOD)
    found = effective(load(path), Who(partition="batch", qos="urgent", user="alice smith"))
    assert (found.rule.on_demand, found.rule.on_demand_max_delay) == (True, 600)
    assert found.rule.checkpoint_every == 1800
    assert found.rule.delay_weight == 2
    assert found.origin["on_demand"] == f"{path}:9 [qos.urgent]"
    assert found.origin["checkpoint_every"] == f"{path}:3 [defaults]"
    assert found.origin["exempt_time"] == f"{path}:6 [partition.batch]"
    assert found.origin["delay_weight"] == f"{path}:13 [user.alice smith]"
    assert found.origin["preemptible"] == "built in"


def test_without_a_rule_for_it_nobody_may_preempt(write) -> None:
    assert effective(load(write(GOOD)), Who(qos="normal")).rule.on_demand is False
    assert effective(None, Who(qos="urgent")).rule.on_demand is False


def test_every_mistake_is_found_with_its_line_and_the_nearest_key(write) -> None:
    path = write(
        '[defaults]\non_demnd = false\ncheckpoint_every = "30x"\n\n[partitoin.batch]\nexempt_time = "5m"\n\n'
        "[qos.urgent]\ndelay_weight = -1\n"
    )
    policy, faults = check(path)
    assert policy is None
    assert [(fault.line, fault.field) for fault in faults] == [
        (2, "defaults.on_demnd"),
        (3, "defaults.checkpoint_every"),
        (5, "partitoin"),
        (9, "qos.urgent.delay_weight"),
    ]
    assert "'on_demand'" in faults[0].message
    assert "'partition'" in faults[2].message


def test_a_file_that_is_not_toml_names_the_line(write) -> None:
    _, faults = check(write("[defaults]\non_demand = maybe\n"))
    assert [fault.line for fault in faults] == [2]
    assert "not TOML" in faults[0].message


def test_loading_a_bad_file_is_one_line(write) -> None:
    with pytest.raises(InputError, match=r"policy.toml:2: defaults.a: .*and 1 more") as raised:
        load(write("[defaults]\na = 1\nb = 2\n"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", None])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"policy\.toml: "):
        check(path)


def test_a_scope_that_is_not_a_table_is_said_so(write) -> None:
    _, faults = check(write("qos = 3\n"))
    assert "expected a table" in faults[0].message


def test_what_is_built_in_leaves_no_field_open() -> None:
    assert all(value is not None for value in dict(BUILT_IN).values())
    assert BUILT_IN.checkpoint_every == 0


def test_each_field_is_described() -> None:
    assert all(field.description for field in [*Rule.model_fields.values(), *Policy.model_fields.values()])


def test_check_exits_1_and_prints_each_mistake_on_its_line(write) -> None:
    path = write("[defaults]\nexempt_time = true\nqos = 1\n")
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 1
    assert [line.split(" ")[0] for line in result.stdout.splitlines()] == [f"{path}:2:", f"{path}:3:"]


def test_a_good_file_exits_0(write) -> None:
    assert CliRunner().invoke(app, ["check", str(write(GOOD))]).exit_code == 0
    assert CliRunner().invoke(app, ["check", str(write("")), "--json"]).stdout.strip() == "[]"


def test_show_prints_values_and_origins_as_json(write) -> None:
    result = CliRunner().invoke(app, ["show", "--file", str(write(GOOD)), "--qos", "urgent", "--json"])
    assert json.loads(result.stdout)["on_demand"]["value"] is True


def test_the_schema_is_json_with_every_field() -> None:
    schema = json.loads(CliRunner().invoke(app, ["schema"]).stdout)
    assert set(schema["$defs"]["Rule"]["properties"]) == set(Rule.model_fields)


def test_the_page_has_the_fields_that_the_model_has() -> None:
    page = Path(__file__).parents[3] / pages.PAGE
    assert pages.policy_page(page.read_text("utf-8")) == page.read_text("utf-8")


def test_the_example_of_the_page_is_a_good_policy(write) -> None:
    page = (Path(__file__).parents[3] / pages.PAGE).read_text("utf-8")
    example = page[page.index("    [defaults]") : page.index("## Before")]
    found, faults = check(write("\n".join(line.strip() for line in example.splitlines())))
    assert not faults
    assert found is not None
    assert effective(found, Who(user="ada")).rule.delay_weight == 2
