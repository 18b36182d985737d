"""The limits made from a policy: Lua refuses what `effective` does not permit, whoever asks."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lua_in_process import Controller, Lua
from typer.testing import CliRunner

from scheduler.cli.policy import app
from scheduler.policy import Policy, PolicyFile, Who, effective
from scheduler.policy.limits import limits_of
from slurm_plugins.limits import limits_file

DENIED = 2002
_NAMES = ("a", "b")
_rules = st.fixed_dictionaries(
    {},
    optional={
        "on_demand": st.booleans(),
        "on_demand_max_delay": st.sampled_from([0, 60, 600]),
        "tier_dram_max": st.sampled_from([1 << 20, 1 << 30]),
        "tier_far_max": st.sampled_from([0, 1 << 30]),
        "colocate": st.booleans(),
        "hbm_max": st.sampled_from([1 << 20, 1 << 30]),
        "preemptible": st.booleans(),
    },
)
_scope = st.dictionaries(st.sampled_from(_NAMES), _rules, max_size=2)
_policies = st.builds(
    lambda defaults, **scopes: Policy.model_validate({"defaults": defaults, **scopes}),
    _rules,
    **dict.fromkeys(("cluster", "partition", "account", "qos", "user"), _scope),
)
_name = st.sampled_from([*_NAMES, "other"])
_who = st.builds(Who, _name, _name, _name, _name, _name)


@given(policy=_policies, who=_who)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
def test_lua_answers_as_the_policy_says(lua: Lua, tmp_path: Path, policy: Policy, who: Who) -> None:
    controller = Controller(lua, tmp_path)
    (tmp_path / "tierwise_limits.lua").write_text(limits_file(limits_of(policy, who.cluster)))
    controller.load()
    rule = effective(PolicyFile(Path("p"), policy, {}), who).rule

    def permitted(entry: str) -> bool:
        face = {"partition": who.partition, "account": who.account, "qos": who.qos, "user_name": who.user}
        code = controller.submit(entry, **face).code
        assert code in {0, DENIED}
        return code == 0

    for delay in (0, 60, 61, 600, 3600, 3601):
        said = bool(rule.on_demand) and delay <= (rule.on_demand_max_delay or 0)
        assert permitted(f"TIERWISE_ON_DEMAND={delay}") == said
    assert permitted("TIERWISE_COLOCATE=train") == rule.colocate
    for size in (1 << 20, (1 << 30) - 1, (1 << 30) + 1):
        assert permitted(f"TIERWISE_TIER_DRAM={size}") == (size <= (rule.tier_dram_max or 0))
        assert permitted(f"TIERWISE_TIER_FAR={size}") == (size <= (rule.tier_far_max or 0))
        assert permitted(f"TIERWISE_HBM={size}") == (size <= (rule.hbm_max or 0))


def test_apply_writes_the_limits_and_has_slurmctld_load_them(lua: Lua, tmp_path: Path) -> None:
    controller = Controller(lua, tmp_path)
    controller.load()
    script, policy = tmp_path / "job_submit.lua", tmp_path / "policy.toml"
    policy.write_text('[user.ada]\non_demand = true\non_demand_max_delay = "10m"\n')
    before = int(script.stat().st_mtime)
    arguments = ["apply", "--file", str(policy), "--job-submit", str(script)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert int(script.stat().st_mtime) > before
    controller.load()
    assert controller.submit("TIERWISE_ON_DEMAND=600", user_name="ada").code == 0
    late = controller.submit("TIERWISE_ON_DEMAND=601", user_name="ada")
    assert late.code == DENIED
    assert late.told[-1] == "user tierwise: --on-demand: must be at most 600 s (user ada, partition batch)"
    assert controller.submit("TIERWISE_ON_DEMAND=0", user_name="bob").code == DENIED

    good = (tmp_path / "tierwise_limits.lua").read_text()
    policy.write_text("[user.ada]\non_demnd = true\n")
    assert CliRunner().invoke(app, arguments).exit_code != 0
    assert (tmp_path / "tierwise_limits.lua").read_text() == good


def test_a_missing_script_is_told(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    done = CliRunner().invoke(app, ["apply", "--file", str(policy), "--job-submit", str(tmp_path / "no.lua")])
    assert "tierwise plugin install --job-submit" in str(done.exception)
