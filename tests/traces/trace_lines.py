"""Lines of small traces, invented for the tests."""

from __future__ import annotations

SWF_HEADER = "; Version: 2.2\n; UnixStartTime: 0\n; MaxNodes: 100\n; MaxProcs: 100\n"


def swf_line(
    number: int = 1,
    submit: object = 0,
    wait: object = 10,
    run: object = 100,
    allocated: object = 4,
    requested: object = 4,
    limit: object = 200,
    status: object = 1,
) -> str:
    return f"{number} {submit} {wait} {run} {allocated} -1 -1 {requested} {limit} -1 {status} 7 3 -1 2 -1 -1 -1\n"
