"""The C parser of values as a program, asked value after value."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scheduler.options.table import OPTIONS, Option


class Values:
    """`values.c` in a process that answers question after question."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, option: Option, raw: bytes, by_variable: bool = False) -> tuple[bool, str]:
        """Return whether a value is accepted, and its canonical form or the complaint."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        head = bytes([OPTIONS.index(option), by_variable]) + len(raw).to_bytes(2, "big")
        self._process.stdin.write(head + raw)
        self._process.stdin.flush()
        answer = self._process.stdout.read(3)
        assert len(answer) == 3, "the C side died"
        text = self._process.stdout.read(int.from_bytes(answer[1:], "big"))
        return answer[0] == 1, text.decode("ascii")

    def close(self) -> int:
        """End the process; its status tells what the sanitizers found."""
        self._process.communicate()
        return self._process.returncode
