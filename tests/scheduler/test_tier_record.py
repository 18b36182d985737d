"""The agent's own model of a job's record, and the table of options that records are made from, say the same."""

from __future__ import annotations

import typing

from memory_tiers.agent.protocol import Record
from memory_tiers.policy import TierClass
from scheduler.options.parsing import from_record
from scheduler.options.table import BY_KEY, OPTIONS


def test_the_agent_reads_every_memory_option() -> None:
    assert set(Record.model_fields) == {option.key for option in OPTIONS if option.key.startswith("tier_")}


def test_the_classes_are_those_of_the_flag() -> None:
    accepted = typing.get_args(typing.get_args(Record.model_fields["tier_class"].annotation)[0])
    assert accepted == BY_KEY["tier_class"].words
    assert {member.value for member in TierClass} == set(accepted)


def test_a_record_of_a_job_is_a_record_for_the_agent() -> None:
    options = from_record(
        '{"tierwise":1,"tier_class":"capacity","tier_dram":2147483648,"tier_share":"climate","slo":1}'
    )
    assert options is not None
    record = Record.model_validate(options.given())
    assert (record.tier_class, record.tier_dram, record.tier_share) == ("capacity", 1 << 31, "climate")
    largest = Record.model_validate({"tier_dram": BY_KEY["tier_dram"].maximum, "tier_far": 0})
    assert largest.tier_dram == BY_KEY["tier_dram"].maximum
