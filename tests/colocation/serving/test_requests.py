"""Requests from files, and what is said of files that hold none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from colocation.serving import read_requests
from traces.errors import InputError

GOOD = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:50.99,396,109\n"
SIMULATE = [
    sys.executable,
    "-c",
    "import sys; from scheduler.cli.app import main; sys.exit(main())",
    *("serve", "simulate"),
]


def test_the_form_of_the_azure_traces_is_read(tmp_path: Path) -> None:
    path = tmp_path / "code.csv"
    path.write_text(GOOD)
    found = read_requests([path])
    assert found.arrival.tolist() == pytest.approx([0, 4.31])
    assert (found.prompt.tolist(), found.output.tolist(), found.applications) == ([374, 396], [44, 109], ("code",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a CSV file of requests"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "no requests in it"),
        ("a,b\n1,2\n", "line 1: no column"),
        (GOOD + "2023-11-16 18:16:00,many,3\n", "line 4: ContextTokens: 'many'"),
        (GOOD + "2023-11-16 18:16:00,5,0\n", "line 4: GeneratedTokens: '0'"),
        (GOOD + "yesterday,5,1\n", "line 4: TIMESTAMP: 'yesterday'"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_requests([path])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_prints_the_form_that_programs_rely_on(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(GOOD)
    words = [*SIMULATE, str(path), "--cache-tokens", "1000", "--policy", "predictive,greedy", "--seed", "1", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["policies"]
    assert list(found) == ["predictive", "greedy"]
    wanted = {"throughput_tokens_per_s", "preemptions", "recomputed_tokens", "ttft_p50", "ttft_p99", "tpot_p50"}
    assert wanted | {"completed"} <= set(found["predictive"])
    assert found["predictive"]["completed"] == 2


def test_a_wrong_policy_is_one_line(tmp_path: Path) -> None:
    words = [*SIMULATE, str(tmp_path / "absent.csv"), "--cache-tokens", "1000", "--policy", "best"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("tierwise: error: --policy: 'best' is no policy")
    assert done.stderr.count("\n") == 1
