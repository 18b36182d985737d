"""The prolog and epilog, run as slurmd runs them, against agents of every kind; and their installation."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_tiers.agent.protocol import Deregister, Register, answer, parse
from memory_tiers.agent.server import Caller, Server
from scheduler.cli.plugin import app
from scheduler.options import OPTIONS, Kind, Option, canonical, from_record
from scheduler.options.parsing import typed
from slurm_plugins import hook, hooks
from tests.availability import unavailable
from traces import InputError

LIMIT = 2.0
SLACK = 2.0
"""For the shell's start on a loaded machine [s]; the limit itself counts from the interpreter's start."""
JOB = {"SLURM_JOB_ID": "1234", "SLURM_JOB_UID": "1000", "SLURM_JOB_GID": "100", "SLURM_JOB_USER": "alice"}
TABLE = tuple(hooks.row(option) for option in OPTIONS)


@dataclass
class Agent:
    """A server at the agent's socket, with an answer of the test's; None: it never answers."""

    path: Path
    answer: bytes | None = b'{"ok":true}\n'
    trickle: float = 0.0
    lines: list[bytes] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[Agent]:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path))
            listener.listen()
            listener.settimeout(0.05)
            done = threading.Event()
            thread = threading.Thread(target=self._serve, args=(listener, done))
            thread.start()
            try:
                yield self
            finally:
                done.set()
                thread.join()
                self.path.unlink()

    def _serve(self, listener: socket.socket, done: threading.Event) -> None:
        kept = []
        while not done.is_set():
            try:
                caller, _ = listener.accept()
            except TimeoutError:
                continue
            kept.append(caller)
            caller.settimeout(1.0)
            self.lines.append(caller.recv(65536))
            try:
                for byte in self.answer or b"":
                    caller.sendall(bytes([byte]))
                    done.wait(self.trickle)
            except OSError:  # the hook has gone
                pass
            if self.answer is not None:
                caller.close()
        for caller in kept:
            caller.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tw-") as made:  # pytest's own may be too long for a socket
        yield Path(made)


def installed(folder: Path, name: str = "prolog", python: Path | None = None) -> Path:
    path = folder / hooks.file_name(name)
    path.write_text(hooks.script(name, OPTIONS, python or hooks.default_python(), folder / "agent.sock"))
    path.chmod(0o755)
    return path


def run(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a hook with nothing in its environment but this, as slurmd does; it must end with 0 and in time."""
    start = time.monotonic()
    done = subprocess.run([path], env=environment, cwd="/", capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0
    assert done.stdout == ""
    assert time.monotonic() - start < LIMIT + SLACK
    return done


def test_the_agent_learns_of_a_job_and_of_its_end(folder: Path) -> None:
    asked = {"SPANK_TIERWISE_TIER_DRAM": "2147483648", "SPANK_TIERWISE_SLO": "0.25", "SPANK_TIERWISE_ON_DEMAND": "120"}
    with Agent(folder / "agent.sock").listening() as agent:
        for name in hooks.HOOKS:
            assert run(installed(folder, name), **JOB, **asked, SLURMD_NODENAME="n1").stderr == ""
    register, deregister = agent.lines
    assert json.loads(register) == {
        "version": 1,
        "op": "register",
        "job": 1234,
        "uid": 1000,
        "gid": 100,
        "user": "alice",
        "name_hint": None,
        "step": None,
        "record": {"tierwise": 1, "tier_dram": 2147483648, "slo": 0.25, "on_demand": 120},
        "node": "n1",
        "cgroup": None,
    }
    found = parse(register)
    assert isinstance(found, Register)
    assert found.record.tier_dram == 2 << 30
    assert parse(deregister) == Deregister(version=1, op="deregister", job=1234)
    assert register.count(b"\n") == deregister.count(b"\n") == 1


def test_the_agents_own_server_takes_and_answers_it(folder: Path) -> None:
    heard = []

    def handle(line: bytes, caller: Caller) -> bytes:
        heard.append((parse(line), caller.uid))
        return answer({"ok": True})

    server = Server(folder / "agent.sock", handle)
    try:
        for name in hooks.HOOKS:
            calling = subprocess.Popen(
                [installed(folder, name)],
                env={**JOB, "SPANK_TIERWISE_HBM": "1048576"},
                stderr=subprocess.PIPE,
                text=True,
            )
            end = time.monotonic() + LIMIT + SLACK
            while not server.serve(0.1):
                assert time.monotonic() < end
            assert calling.communicate(timeout=LIMIT + SLACK)[1] == ""
            assert calling.returncode == 0
    finally:
        server.close()
    assert [(type(request), uid) for request, uid in heard] == [(Register, os.getuid()), (Deregister, os.getuid())]


def test_a_job_that_asks_for_nothing_is_not_registered(folder: Path) -> None:
    with Agent(folder / "agent.sock").listening() as agent:
        run(installed(folder), **JOB, SPANK_TIERWISE_TIER_DRAM="", SPANK_TIERWISE_COLOUR="red", TIERWISE_HBM="1048576")
    assert agent.lines == []


@pytest.mark.parametrize("name", hooks.HOOKS)
@pytest.mark.parametrize(
    ("answer", "trickle", "complaint"),
    [
        (None, 0, "does not answer"),
        (b"x" * 100_000, 0, "does not take it"),
        (b'{"ok":true,' * 500, 0.05, "does not answer"),
        (b"\xff\x00\x1b[31m\n", 0, r"does not take it: '\xff\x00\x1b[31m\n'"),
        (b"[" * 4000 + b"\n", 0, "does not take it"),
        (b"", 0, "does not take it: ''"),
        (b'{"ok":false,"error":"no"}\n', 0, '"error":"no"'),
    ],
    ids=["hanging", "endless", "trickling", "binary", "deep", "closing", "refusing"],
)
def test_whatever_the_agent_does_the_status_is_0(
    folder: Path, name: str, answer: bytes | None, trickle: float, complaint: str
) -> None:
    with Agent(folder / "agent.sock", answer, trickle).listening() as agent:
        said = run(installed(folder, name), **JOB, SPANK_TIERWISE_HBM="1048576").stderr
    assert len(agent.lines) == 1
    assert said.startswith(f"tierwise: {name}: the node agent ")
    assert complaint in said
    assert said.count("\n") == 1
    assert said.isascii()
    assert len(said) < 1000


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_a_queue_that_is_full_is_not_waited_for(folder: Path, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "agent.sock"))
        listener.listen(0)
        waiting = []
        try:
            for _ in range(64):
                caller = socket.socket(socket.AF_UNIX)
                caller.setblocking(False)
                waiting.append(caller)
                if caller.connect_ex(str(folder / "agent.sock")):
                    break
            said = run(installed(folder, name), **JOB, SPANK_TIERWISE_HBM="1048576").stderr
        finally:
            for caller in waiting:
                caller.close()
    assert "the node agent cannot be reached" in said


def test_without_an_agent_nothing_is_said(folder: Path) -> None:
    path = installed(folder)
    assert run(path, **JOB, SPANK_TIERWISE_HBM="1048576").stderr == ""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "agent.sock"))  # as after kill -9: the socket is there, nobody listens
    assert run(path, **JOB, SPANK_TIERWISE_HBM="1048576").stderr == ""


@pytest.mark.parametrize("content", [None, "", "#!/bin/sh\nexec sleep 60\n", "#!/bin/sh\nkill -9 $$\n"])
def test_a_missing_or_broken_interpreter_is_no_failure(folder: Path, content: str | None) -> None:
    python = folder / "python"
    if content is not None:
        python.write_text(content)
        python.chmod(0o755 if content else 0o644)
    run(installed(folder, python=python), **JOB, SPANK_TIERWISE_HBM="1048576")


@pytest.mark.parametrize("job", ["", "0", "-1", "1e3", "1\n2", "9" * 400, "12;reboot", "\u0661"])
def test_without_a_job_nothing_is_sent(folder: Path, job: str) -> None:
    with Agent(folder / "agent.sock").listening() as agent:
        for name in hooks.HOOKS:
            run(installed(folder, name), **{**JOB, "SLURM_JOB_ID": job}, SPANK_TIERWISE_HBM="1048576")
    assert agent.lines == []


HOSTILE = [
    "1" * 100_000,
    '"}',
    "2G",
    "-1",
    "1e9",
    "0x10",
    " 1",
    "1\n",
    "\u0661",
    "00",
    "1.",
    ".5",
    "1.50",
    "1.2345",
    "latency\n",
]


def test_hostile_values_are_left_out_one_by_one(folder: Path) -> None:
    for text in HOSTILE:
        for option in OPTIONS:
            environment = {f"SPANK_{option.variable}": text}
            assert _record(environment) in ({}, {"tierwise": 1, option.key: text}), (option.key, text)
    with Agent(folder / "agent.sock").listening() as agent:
        path = installed(folder)
        for text in HOSTILE:
            run(
                path, **JOB, SPANK_TIERWISE_TIER_CLASS=text, SPANK_TIERWISE_TIER_DRAM=text, SPANK_TIERWISE_HBM="1048576"
            )
    assert [json.loads(line)["record"] for line in agent.lines] == [{"tierwise": 1, "hbm": 1048576}] * len(HOSTILE)


def _record(environment: dict[str, str]) -> dict[str, object]:
    kept = hook.OPTIONS
    hook.OPTIONS = TABLE
    try:
        written = hook.record(environment)
    finally:
        hook.OPTIONS = kept
    return dict(json.loads(written)) if written else {}


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(OPTIONS),
    st.one_of(st.text(max_size=80), st.from_regex(r"[0-9]{1,18}(\.[0-9]{0,4})?", fullmatch=True)),
)
def test_what_is_taken_is_what_the_plugin_sends(option: Option, text: str) -> None:
    found = _record({f"SPANK_{option.variable}": text})
    try:
        is_canonical = canonical(option, text) == text
    except InputError:
        is_canonical = False
    if is_canonical:
        assert found == {"tierwise": 1, option.key: typed(option, text)}
        options = from_record(json.dumps(found))
        assert options is not None
        assert options.given() == {option.key: typed(option, text)}
    else:
        assert found == {}


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*JOB, "SLURMD_NODENAME", "SPANK_TIERWISE_TIER_SHARE"]), st.text(max_size=300)))
def test_a_request_is_always_one_that_the_agent_understands(environment: dict[str, str]) -> None:
    for name in hooks.HOOKS:
        line = hook.request(name, {"SPANK_TIERWISE_HBM": "1048576", **JOB, **environment})
        if line is not None:
            assert line.count("\n") == 1
            parse(line.encode("ascii"))


def test_the_installed_file_is_ascii_and_plain_enough_for_python_3_6() -> None:
    text = hooks.script("prolog", OPTIONS, Path("/usr/bin/python3"), Path("/run/tierwise/agent.sock"))
    assert text.isascii()
    compile(text, "prolog", "exec")
    imported = {line.split()[1] for line in text.splitlines() if line.lstrip().startswith(("import ", "from "))}
    assert imported == {"_socket", "os", "sys", "time", "syslog"}


def test_names_and_choices_of_all_kinds_are_in_the_installed_table() -> None:
    assert {row[2] for row in TABLE} == {kind.value for kind in Kind}
    assert [row[0] for row in TABLE] == [option.variable for option in OPTIONS]


def tierwise(*arguments: object) -> int | None:
    code = app([str(argument) for argument in arguments], standalone_mode=False)
    assert code is None or isinstance(code, int)
    return code


@pytest.fixture
def conf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "slurm.conf"
    path.write_text("ClusterName=x\n")
    monkeypatch.setenv("SLURM_CONF", str(path))
    return path


def test_installing_twice_changes_nothing_and_prints_the_lines_until_they_are_there(
    folder: Path, conf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tierwise("hooks", "--json", "--dry-run")
    assert [path.name for path in folder.iterdir()] == ["slurm.conf"]
    capsys.readouterr()
    for changed in (True, False):
        tierwise("hooks", "--json")
        report = json.loads(capsys.readouterr().out)
        assert [file["changed"] for file in report["files"]] == [changed, changed]
        assert [item.split(": ")[1] for item in report["to_do"]] == [
            f"Prolog={folder}/prolog.d/*",
            f"Epilog={folder}/epilog.d/*",
        ]
    assert os.access(folder / "prolog.d" / "tierwise_prolog", os.X_OK)
    conf.write_text(f"prolog={folder}/prolog.d/*\nEpilog = /x,{folder}/epilog.d/tierwise_epilog # ours\n")
    tierwise("hooks", "--json")
    assert json.loads(capsys.readouterr().out)["to_do"] == []


def test_a_sites_own_file_is_left_alone(folder: Path, conf: Path) -> None:
    path = folder / "epilog.d" / "tierwise_epilog"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexec /site/epilog\n")
    with pytest.raises(InputError, match="not Tierwise's"):
        tierwise("hooks")
    assert path.read_text() == "#!/bin/sh\nexec /site/epilog\n"
    assert not (folder / "prolog.d").exists()


@pytest.mark.parametrize("bad", ["/x y", "/x'y", "/$(reboot)", "relative", "/a\nb", '/"', "/x;y", "/" + "s" * 108])
def test_paths_that_a_shell_would_read_are_refused(folder: Path, conf: Path, bad: str) -> None:
    with pytest.raises(InputError, match="--socket: "):
        tierwise("hooks", "--socket", bad)
    assert not (folder / "prolog.d").exists()


def test_check_tells_of_hooks_that_are_missing_old_or_not_called(
    folder: Path, conf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def problems(*arguments: object) -> list[str]:
        capsys.readouterr()
        assert tierwise("check", "--json", "--plugin", folder / "none.so", *arguments) == 1
        return [line for line in json.loads(capsys.readouterr().out)["problems"] if "log" in line]

    prologs = folder / "prolog.d"
    assert problems() == []
    assert len(problems("--prolog-dir", prologs)) == 2
    tierwise("hooks", "--python", sys.executable, "--socket", "/run/other.sock")
    assert [line.split(":")[0].split(" does")[0] for line in problems()] == ["slurm.conf", "slurm.conf"]
    conf.write_text(f"Prolog={prologs}/*\nEpilog={folder}/epilog.d/*\n")
    assert problems() == []
    ours = prologs / "tierwise_prolog"
    ours.chmod(0o644)
    assert "not executable" in problems()[0]
    ours.chmod(0o755)
    ours.write_text(ours.read_text().replace("1048576", "1"))
    assert "is not that of this Tierwise" in problems()[0]
    ours.unlink()
    assert "is missing" in problems()[0]
    assert "drains" in problems()[0]


@pytest.mark.parametrize("version", ["3.6", "3.9", "3.12"])
def test_other_pythons_run_it(folder: Path, version: str) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    if not found:
        unavailable("pythons", f"no Python {version} of pyenv's")
    with Agent(folder / "agent.sock").listening() as agent:
        assert run(installed(folder, python=found[0]), **JOB, SPANK_TIERWISE_HBM="1048576").stderr == ""
    assert json.loads(agent.lines[0])["record"] == {"tierwise": 1, "hbm": 1048576}
