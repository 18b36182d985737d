from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from traces import KINDS, SCHEMA, InputError, Machine, Trace, theta_like
from traces.problems import REFUSE

DOCS = Path(__file__).parents[2] / "docs" / "traces.md"


def table_rows(heading: str) -> list[list[str]]:
    section = DOCS.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_documented_table_is_the_schema() -> None:
    shown = [
        [f"`{column.name}`", column.dtype, column.unit, f"`{column.unknown!r}`", column.meaning] for column in SCHEMA
    ]
    assert table_rows("The table") == shown


def test_the_documented_treatments_are_the_treatments() -> None:
    shown = [
        [
            f"`{kind.name}`",
            kind.meaning,
            f"{kind.default}: {kind.allowed[kind.default]}" if kind.default != REFUSE else REFUSE,
            ", ".join(name for name in kind.allowed if name != kind.default),
        ]
        for kind in KINDS.values()
    ]
    assert table_rows("Problems and treatments") == shown


def test_the_columns_have_the_types_of_the_schema() -> None:
    trace = theta_like(10)
    kinds = {"str": "U", "float64": "f", "int64": "i", "bool": "b"}
    assert {column.name: trace.column(column.name).dtype.kind for column in SCHEMA} == {
        column.name: kinds[column.dtype] for column in SCHEMA
    }


def test_an_unknown_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="it has job_id, submit"):
        theta_like(2).column("walltime")


def test_a_table_that_is_not_sorted_or_not_whole_is_a_defect() -> None:
    columns = dict(theta_like(3).columns)
    with pytest.raises(ValueError, match="not sorted"):
        Trace({**columns, "submit": columns["submit"][::-1]})
    with pytest.raises(ValueError, match="unequal"):
        Trace({**columns, "submit": columns["submit"][:2]})
    del columns["nodes"]
    with pytest.raises(ValueError, match="nodes"):
        Trace(columns)


def test_a_frame_goes_out_and_comes_back() -> None:
    trace = theta_like(50)
    back = Trace.from_frame(trace.frame(), trace.machine)
    for column in SCHEMA:
        equal_nan = column.dtype == "float64"
        assert np.array_equal(trace.column(column.name), back.column(column.name), equal_nan=equal_nan)


def test_a_frame_needs_three_columns_only() -> None:
    trace = Trace.from_frame(pd.DataFrame({"submit": [5, 1], "run_time": [10, 20], "nodes": [1, 2]}), Machine(nodes=4))
    assert trace.column("nodes").tolist() == [2, 1]
    assert np.isinf(trace.column("requested_time")).all()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"submit": [1]}), "has no column run_time, nodes"),
        (pd.DataFrame({"submit": ["x"], "run_time": [1], "nodes": [1]}), "data frame:1: submit: 'x' is no float64"),
        (pd.DataFrame({"submit": [1], "run_time": [1], "nodes": [1.5]}), "nodes: '1.5' is no int64"),
        (pd.DataFrame({"submit": [], "run_time": [], "nodes": []}), "holds no job"),
        (
            pd.DataFrame({"submit": [1], "run_time": [1], "nodes": [1], "on_demand": ["perhaps"]}),
            "on_demand: 'perhaps' is no bool",
        ),
    ],
)
def test_a_frame_of_something_else_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Trace.from_frame(frame)


def test_importing_the_package_and_reading_swf_imports_neither_pandas_nor_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    path.write_text("1 0 1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 -1 -1 -1\n")
    code = (
        "import sys, traces; traces.read([sys.argv[1]]);"
        "sys.exit(bool({'pandas', 'pyarrow', 'rich', 'typer'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0
