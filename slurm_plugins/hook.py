"""Slurm's prolog and epilog: tell the node agent, where there is one, that a job starts or has ended.

Installed as one file behind a shell wrapper (see hooks.py) and run alone by any Python from 3.6 on: it imports nothing
of Tierwise's and calls no command of Slurm's. A prolog that fails drains its node, so whatever happens here the
wrapper's status is 0. What stands in the environment under SPANK_* was written by the job's user.

Each job waits for this, so it imports little: `socket`, `json`, `re` and `typing` would double its time.
"""

import _socket
import os
import sys
import time

# Replaced when installed: variable, key in the record, kind, minimum, maximum (bytes or milliseconds), words.
OPTIONS = ()  # type: tuple[tuple[str, str, str, int, int, tuple[str, ...]], ...] #@OPTIONS@
SOCKET = ""  # @SOCKET@

ANSWER_SECONDS = 1.2
"""Until the agent must have answered; the wrapper's own limit, which counts Python's start too, is 2 s."""

LONGEST_ANSWER = 4096
LONGEST_NUMBER = 20
LONGEST_NAME = 64
LONGEST_PERSON = 256

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") | _DIGITS
_NAME = _LETTERS | frozenset("._-")
_PERSON = _NAME | frozenset("@$+")


def value(kind: str, minimum: int, maximum: int, words: "tuple[str, ...]", text: str) -> "str | None":
    """Check a canonical value, as the plugin sends it, and write it as JSON; None for anything else.

    Parameters
    ----------
    kind : str
        `choice`, `name`, `size` or `time`.
    minimum, maximum : int
        Bounds, both included: bytes of a size, milliseconds of a time.
    words : tuple of str
        Choices, or words accepted beside a number.
    text : str
        What the job's environment says.

    Returns
    -------
    str or None
        A quoted word or name; bytes; seconds.
    """
    if text in words:
        return '"' + text + '"'
    if kind == "name":
        fits = 0 < len(text) <= LONGEST_NAME and text[0] in _LETTERS and _NAME.issuperset(text)
        return '"' + text + '"' if fits else None
    if kind == "choice" or len(text) > LONGEST_NUMBER:
        return None
    whole, point, decimals = text.partition(".") if kind == "time" else (text, "", "")
    if not _is_number(whole) or (point and not _are_decimals(decimals)):
        return None
    number = int(whole) if kind == "size" else int(whole) * 1000 + int(decimals.ljust(3, "0"))
    return text if minimum <= number <= maximum else None


def _is_number(text: str) -> bool:
    return bool(text) and _DIGITS.issuperset(text) and (text == "0" or text[0] != "0")


def _are_decimals(text: str) -> bool:
    return 1 <= len(text) <= 3 and _DIGITS.issuperset(text) and text[-1] != "0"


def record(environment: "dict[str, str]") -> "str | None":
    """Write what a job asks for as job_submit.lua writes it; None where it asks for nothing."""
    parts = ['"tierwise":1']
    for variable, key, kind, minimum, maximum, words in OPTIONS:
        written = value(kind, minimum, maximum, words, environment.get("SPANK_" + variable, ""))
        if written is not None:
            parts.append('"' + key + '":' + written)
    return "{" + ",".join(parts) + "}" if len(parts) > 1 else None


def request(hook: str, environment: "dict[str, str]") -> "str | None":
    """Write what to send, as one line of JSON.

    Parameters
    ----------
    hook : str
        `prolog` or `epilog`.
    environment : dict of str to str
        What slurmd gives it.

    Returns
    -------
    str or None
        None where there is no job, or it asks for nothing of Tierwise's. An epilog always deregisters: a job's own
        process may have registered it.
    """
    job = _number(environment, "SLURM_JOB_ID")
    if job in {"null", "0"}:
        return None
    if hook == "epilog":
        return '{"version":1,"op":"deregister","job":' + job + "}\n"
    asked = record(environment)
    if asked is None:
        return None
    fields = (
        ("uid", _number(environment, "SLURM_JOB_UID")),
        ("gid", _number(environment, "SLURM_JOB_GID")),
        ("user", _person(environment, "SLURM_JOB_USER")),
        ("name_hint", "null"),
        ("step", "null"),
        ("record", asked),
        ("node", _person(environment, "SLURMD_NODENAME")),
        ("cgroup", "null"),
    )
    rest = "".join(',"' + name + '":' + written for name, written in fields)
    return '{"version":1,"op":"register","job":' + job + rest + "}\n"


def _number(environment: "dict[str, str]", name: str) -> str:
    text = environment.get(name, "")
    return text if len(text) <= 10 and _is_number(text) else "null"


def _person(environment: "dict[str, str]", name: str) -> str:
    text = environment.get(name, "")
    return '"' + text + '"' if 0 < len(text) <= LONGEST_PERSON and _PERSON.issuperset(text) else "null"


def tell(line: str, path: str) -> "str | None":
    """Send a request to the agent and take its answer.

    Parameters
    ----------
    line : str
        The request.
    path : str
        The agent's socket.

    Returns
    -------
    str or None
        What is wrong, in a few words; None where nothing is, and where there is no agent.
    """
    end = time.monotonic() + ANSWER_SECONDS
    agent = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        agent.settimeout(ANSWER_SECONDS)
        agent.connect(path)
        agent.sendall(line.encode("ascii"))
        answer = _answer(agent, end)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except _socket.timeout:
        return "does not answer"
    except OSError as error:
        return "cannot be reached: " + str(error.strerror)
    finally:
        agent.close()
    if answer.rstrip().replace(b" ", b"") == b'{"ok":true}':
        return None
    return "does not take it: " + ascii(answer[:200])[1:]


def _answer(agent: _socket.socket, end: float) -> bytes:
    answer = b""
    while len(answer) < LONGEST_ANSWER and b"\n" not in answer:
        left = end - time.monotonic()
        if left <= 0:
            raise _socket.timeout
        agent.settimeout(left)
        part = agent.recv(LONGEST_ANSWER)
        if not part:
            break
        answer += part
    return answer


def complain(hook: str, problem: str) -> None:
    """Say in one line what is wrong, to the system's log too: slurmd drops what a prolog that succeeds writes."""
    import syslog  # noqa: PLC0415 - only where there is something to say

    line = "tierwise: " + hook + ": the node agent " + problem
    sys.stderr.write(line + "\n")
    syslog.openlog("tierwise", syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_WARNING, line)


def main(hook: str) -> None:
    """Tell the agent, in time or not at all.

    Parameters
    ----------
    hook : str
        `prolog` or `epilog`.
    """
    line = request(hook, dict(os.environ))
    problem = tell(line, SOCKET) if line else None
    if problem:
        complain(hook, problem)


if __name__ == "__main__":
    main(sys.argv[1])
