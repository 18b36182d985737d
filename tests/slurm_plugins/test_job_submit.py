"""job_submit.lua in Lua itself, with slurmctld played by a few tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lua_in_process import Controller, Lua

from scheduler.options import JobOptions, from_record
from slurm_plugins.limits import Limits, Rule, limits_file

DENIED = 2002


@pytest.fixture
def controller(lua: Lua, tmp_path: Path) -> Controller:
    found = Controller(lua, tmp_path)
    allow(found, Rule(allow=True))
    return found


def allow(controller: Controller, *rules: Rule, key: str = "on_demand") -> None:
    (controller.folder / "tierwise_limits.lua").write_text(limits_file(Limits({key: rules})))
    controller.load()


def test_the_options_of_a_job_become_a_record(controller: Controller) -> None:
    answer = controller.submit(
        "TIERWISE_ON_DEMAND=120",
        "_SLURM_SPANK_OPTION_tierwise_on_demand=2m",
        "TIERWISE_TIER_DRAM=2147483648",
        "TIERWISE_TIER_SHARE=genome.v2",
        "TIERWISE_CHECKPOINT_EVERY=none",
        "TIERWISE_SLO=0.25",
        "OTHER=x",
        comment="mine",
    )
    assert answer.code == 0
    assert answer.comment == "mine"
    assert from_record(answer.admin_comment) == JobOptions(
        on_demand=120.0, tier_dram=2 << 30, tier_share="genome.v2", checkpoint_every="none", slo=0.25
    )


def test_a_job_without_options_gets_no_record(controller: Controller) -> None:
    assert controller.submit("OTHER=x").admin_comment == ""
    assert controller.submit().admin_comment == ""


@pytest.mark.parametrize(
    "entry",
    [
        "TIERWISE_ON_DEMAND=2m",
        "TIERWISE_ON_DEMAND=0120",
        "TIERWISE_ON_DEMAND=1.50",
        "TIERWISE_ON_DEMAND=-1",
        "TIERWISE_ON_DEMAND=1e3",
        "TIERWISE_ON_DEMAND=99999999",
        "TIERWISE_ON_DEMAND=",
        'TIERWISE_TIER_SHARE=a","on_demand":0,"x":"',
        "TIERWISE_TIER_SHARE=" + "a" * 65,
        "TIERWISE_TIER_CLASS=Latency",
        "TIERWISE_TIER_DRAM=2.5",
        "TIERWISE_NO_SUCH=1",
        "TIERWISE_KEY=1",
        " TIERWISE_ON_DEMAND=1",
    ],
)
def test_what_the_plugin_would_not_send_is_left_out(controller: Controller, entry: str) -> None:
    answer = controller.submit(entry)
    assert (answer.code, answer.admin_comment) == (0, "")


@given(value=st.binary(max_size=80), name=st.sampled_from(["TIER_SHARE", "ON_DEMAND", "TIER_CLASS", "HBM"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_no_value_breaks_out_of_the_record(controller: Controller, value: bytes, name: str) -> None:
    answer = controller.submit(f"TIERWISE_{name}=" + value.decode("utf-8", "surrogateescape"))
    assert answer.code == 0
    if answer.admin_comment:
        assert set(answer.record) <= {"tierwise", name.lower()}
    assert all(line.isprintable() for line in answer.told)


def test_a_forged_admin_comment_is_dropped(controller: Controller) -> None:
    forged = '{"tierwise":1,"on_demand":0}'
    assert controller.submit(admin_comment=forged).admin_comment == ""
    assert controller.submit("TIERWISE_HBM=1048576", admin_comment=forged).record == {"tierwise": 1, "hbm": 1 << 20}


def test_roots_own_admin_comment_is_kept(controller: Controller) -> None:
    assert controller.submit(uid=0, admin_comment="ticket 7").admin_comment == "ticket 7"
    answer = controller.submit("TIERWISE_HBM=1048576", uid=0, admin_comment='say "hi"\n\\')
    assert answer.record == {"tierwise": 1, "hbm": 1 << 20, "text": 'say "hi"\n\\'}


@given(text=st.binary(max_size=700))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_any_text_is_escaped_and_bounded(controller: Controller, text: bytes) -> None:
    comment = text.decode("utf-8", "surrogateescape")
    answer = controller.submit("TIERWISE_HBM=1048576", uid=0, admin_comment=comment)
    assert answer.record["hbm"] == 1 << 20
    assert len(answer.admin_comment) < 3200
    assert answer.admin_comment.isascii()


def test_without_limits_nobody_may_be_on_demand(controller: Controller) -> None:
    (controller.folder / "tierwise_limits.lua").unlink()
    controller.load()
    answer = controller.submit("TIERWISE_ON_DEMAND=0", account="bio")
    assert answer.code == DENIED
    assert answer.admin_comment == ""
    assert (
        "user tierwise: --on-demand: is not permitted here (user user1000, account bio, partition batch)" in answer.told
    )
    assert controller.submit("TIERWISE_HBM=1048576").code == 0


@pytest.mark.parametrize("text", ["return {", "error('x')", "return 5", "return {version=2, options={}}", "os.exit(1)"])
def test_broken_limits_count_as_none_and_are_told_once(controller: Controller, text: str) -> None:
    (controller.folder / "tierwise_limits.lua").write_text(text)
    controller.load()
    assert controller.submit("TIERWISE_ON_DEMAND=0").code == DENIED
    answer = controller.submit("TIERWISE_HBM=1048576")
    assert answer.code == 0
    assert sum(line.startswith("error") for line in answer.told) == 1


def test_the_first_rule_that_matches_decides(controller: Controller) -> None:
    allow(
        controller,
        Rule(allow=False, user="user1001"),
        Rule(allow=True, account="urgent", minimum=60, maximum=600),
        Rule(allow=True, partition="gpu"),
    )
    ask = "TIERWISE_ON_DEMAND=120"
    assert controller.submit(ask).code == DENIED
    assert controller.submit(ask, account="urgent").code == 0
    assert controller.submit(ask, default_account="urgent").code == 0
    assert controller.submit(ask, account="urgent", uid=1001).code == DENIED
    assert controller.submit("TIERWISE_ON_DEMAND=30", account="urgent").code == DENIED
    assert controller.submit("TIERWISE_ON_DEMAND=700", account="urgent").code == DENIED
    assert controller.submit(ask, partition="gpu").code == 0
    # A job that may run in several partitions needs the right in each.
    assert controller.submit(ask, partition="gpu,batch").code == DENIED


def test_words_can_be_limited(controller: Controller) -> None:
    allow(controller, Rule(allow=True, words=frozenset({"capacity", "auto"})), key="tier_class")
    assert controller.submit("TIERWISE_TIER_CLASS=auto").code == 0
    assert controller.submit("TIERWISE_TIER_CLASS=latency").code == DENIED


def test_names_cannot_leave_the_limits_file(controller: Controller) -> None:
    name = '"] = os.exit(3) --\\\n\0é'
    allow(controller, Rule(allow=True, user=name))
    assert controller.submit("TIERWISE_ON_DEMAND=1").code == DENIED
    assert controller.submit("TIERWISE_ON_DEMAND=1", user_name=name).code == 0


def test_a_job_cannot_be_moved_to_where_it_would_have_been_refused(controller: Controller) -> None:
    allow(controller, Rule(allow=True, partition="gpu"))
    job: dict[str, str | int] = {
        "admin_comment": '{"tierwise":1,"on_demand":120}',
        "partition": "gpu",
        "user_name": "user1000",
        "user_id": 1000,
    }
    assert controller.modify(job, partition="batch").code == DENIED
    assert controller.modify(job, partition="gpu").code == 0
    assert controller.modify(job, comment="hello").code == 0
    assert controller.modify({**job, "admin_comment": ""}, partition="batch").code == 0


def test_only_root_changes_a_record(controller: Controller) -> None:
    record = '{"tierwise":1,"on_demand":120}'
    forged = '{"tierwise":1,"on_demand":0}'
    assert controller.modify({"admin_comment": record}, admin_comment=forged).admin_comment == record
    assert controller.modify({"admin_comment": ""}, admin_comment=forged).admin_comment == ""
    assert controller.modify({"admin_comment": ""}, admin_comment="ticket 7").admin_comment == "ticket 7"
    assert controller.modify({"admin_comment": record}, admin_comment=forged, uid=0).admin_comment == forged


def test_the_sites_own_functions_come_first(controller: Controller) -> None:
    (controller.folder / "job_submit_site.lua").write_text(
        "function slurm_job_submit(job, parts, uid)\n"
        "  if job.name == 'bad' then return 2001 end\n"
        "  job.account = 'urgent'; job.admin_comment = job.comment\n  return slurm.SUCCESS\nend\n"
        "function slurm_job_modify() return 2003 end\n"
    )
    allow(controller, Rule(allow=True, account="urgent"))
    assert controller.submit("TIERWISE_ON_DEMAND=5").record == {"tierwise": 1, "on_demand": 5}
    assert controller.submit("TIERWISE_ON_DEMAND=5", name="bad").code == 2001
    assert controller.modify({}, partition="gpu").code == 2003
    # A site's function that copies a user's words must not open a way to forge a record.
    forged = controller.submit(comment='{"tierwise":1,"on_demand":0}').admin_comment
    assert from_record(forged) == JobOptions()


def test_a_site_file_may_load_ours_at_its_end(controller: Controller) -> None:
    path = controller.folder / "job_submit.lua"
    controller.lua.run("function slurm_job_submit(job) job.comment = 'seen'; return 0 end slurm_job_modify = nil")
    controller.lua.run(f"dofile('{path}')")
    answer = controller.submit("TIERWISE_ON_DEMAND=5")
    assert (answer.comment, answer.record["on_demand"]) == ("seen", 5)
    assert controller.modify({}, comment="x").code == 0


def test_a_defect_of_ours_lets_the_job_go_on_and_is_told_once(controller: Controller) -> None:
    for _ in range(3):
        controller.lua.run("slurm_saved = string.match; string.match = nil")
        answer = controller.submit("TIERWISE_ON_DEMAND=5")
        controller.lua.run("string.match = slurm_saved")
        assert (answer.code, answer.admin_comment) == (0, "")
    assert sum(line.startswith("error") for line in answer.told) == 1


def test_a_huge_spank_environment_costs_no_more_than_a_large_one(controller: Controller) -> None:
    answer = controller.submit(*(f"X{index}=y" for index in range(5000)), "TIERWISE_ON_DEMAND=5")
    assert answer.code == 0
    assert answer.admin_comment == ""


def test_a_job_costs_far_less_than_a_millisecond(controller: Controller) -> None:
    rules = [Rule(allow=True, user=f"somebody{index}") for index in range(200)]
    allow(controller, *rules, Rule(allow=True))
    entries = ("TIERWISE_ON_DEMAND=120", "TIERWISE_HBM=1048576", "TIERWISE_TIER_SHARE=x", "A=b", "C=d")
    job = ", ".join(f'[{index}] = "{entry}"' for index, entry in enumerate(entries))
    # Interpreters only count processor time, so a busy machine does not fail this.
    seconds = controller.lua.run(
        "local start = os.clock()\n"
        f"for i = 1, 1000 do slurm_job_submit({{ spank_job_env = {{ {job} }} }}, {{}}, 7) end\n"
        "return os.clock() - start"
    )[0]
    per_job = float(seconds or b"1") / 1000
    print(f"job_submit.lua: {per_job * 1e6:.0f} us per job")
    assert per_job < 1e-3
