"""The jobs that the agent looks after: who may add and remove them, and keeping them over a restart."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from memory_tiers.agent.finding import find_group, release
from memory_tiers.agent.protocol import Deregister, Record, RefusedError, Register
from memory_tiers.agent.server import Caller
from memory_tiers.agent.watched import WatchedJob
from memory_tiers.kernel.seam import Kernel

_MOST_OF_ONE_USER = 64
_MOST = 4096
"""Jobs at once; more are refused, so that nobody fills the agent's memory."""


class Registry:
    """The jobs, and the file that remembers them.

    Parameters
    ----------
    kernel : Kernel
        The seam.
    file : Path or None
        Where they are kept over a restart; None: nowhere.
    """

    def __init__(self, kernel: Kernel, file: Path | None) -> None:
        self._kernel, self._file = kernel, file
        self.jobs: dict[int, WatchedJob] = {}

    def register(self, request: Register, caller: Caller) -> WatchedJob:
        """Begin to look after a job.

        Root may name any job; a user's process registers itself and its descendants, and never touches what root or
        another user registered.

        Raises
        ------
        RefusedError
            With the reason.
        """
        present = self.jobs.get(request.job)
        if caller.uid != 0 and present is not None and (not present.by_user or present.uid != caller.uid):
            raise RefusedError(f"job {request.job} is registered already, and not by you")
        if len(self.jobs) >= _MOST and present is None:
            raise RefusedError(f"{_MOST} jobs are registered already")
        made = self._of_root(request) if caller.uid == 0 else self._of_user(request, caller)
        if present is not None:
            made.limit = present.limit if made.group == present.group else None
            made.roots = present.roots | made.roots
            release(present, self._kernel)
        self.jobs[request.job] = made
        self.save()
        return made

    def _of_root(self, request: Register) -> WatchedJob:
        group = self._group(request)
        roots = self._roots(request.pid, None) if request.pid is not None else {}
        named = request.pid is not None or request.cgroup is not None
        return WatchedJob(request.job, request.record, request.uid, group, roots, is_named=named, user=request.user)

    def _of_user(self, request: Register, caller: Caller) -> WatchedJob:
        if request.pid not in (None, caller.pid):
            raise RefusedError(
                f"pid: you may register your own process {caller.pid} and what it starts, not {request.pid}"
            )
        if request.cgroup is not None:
            raise RefusedError("cgroup: only root may name one")
        if sum(job.by_user and job.uid == caller.uid for job in self.jobs.values()) >= _MOST_OF_ONE_USER:
            raise RefusedError(f"you have {_MOST_OF_ONE_USER} jobs registered already")
        roots = self._roots(caller.pid, caller.uid)
        return WatchedJob(request.job, request.record, caller.uid, None, roots, by_user=True, is_named=True)

    def _roots(self, pid: int, uid: int | None) -> dict[int, int]:
        process = self._kernel.open_process(pid)
        if process is None:
            raise RefusedError(f"pid: there is no process {pid}")
        try:
            if uid is not None and process.uid != uid:
                raise RefusedError(f"pid: process {pid} is not yours")
            return {pid: process.started}
        finally:
            self._kernel.close_process(process)

    def _group(self, request: Register) -> Path | None:
        root = self._kernel.group_root()
        if root is None:
            return None
        if request.cgroup is None and request.pid is not None:
            return None
        if request.cgroup is None:
            return find_group(root, request.job, request.uid, request.node)
        named = root / request.cgroup.removeprefix(str(root)).lstrip("/")
        resolved = named.resolve()
        if not resolved.is_relative_to(root.resolve()) or resolved == root.resolve() or not resolved.is_dir():
            raise RefusedError(f"cgroup: {request.cgroup!r} is not a memory control group below {root}")
        return resolved

    def deregister(self, request: Deregister, caller: Caller) -> WatchedJob | None:
        """Stop looking after a job; None where it was not known.

        Raises
        ------
        RefusedError
            Where the caller may not.
        """
        present = self.jobs.get(request.job)
        if present is None:
            return None
        if caller.uid != 0 and (not present.by_user or present.uid != caller.uid):
            raise RefusedError(f"job {request.job} was not registered by you")
        del self.jobs[request.job]
        self.save()
        return present

    def save(self) -> None:
        """Write the jobs down, whole or not at all."""
        if self._file is None:
            return
        document = {"version": 1, "jobs": [_saved(job) for job in self.jobs.values()]}
        new = self._file.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            json.dump(document, stream)
        new.replace(self._file)

    def load(self) -> None:
        """Take up the jobs that an agent before us looked after; what it left unreadable is left aside.

        A root process that has ended since, or whose id another has now, is no root any more.
        """
        if self._file is None or not self._file.exists():
            return
        try:
            saved = json.loads(self._file.read_text())["jobs"]
            jobs = [_restored(one) for one in saved]
        except (ValueError, KeyError, TypeError):
            return
        for job in jobs:
            alive = {}
            for pid, started in job.roots.items():
                process = self._kernel.open_process(pid)
                if process is not None:
                    if process.started == started:
                        alive[pid] = started
                    self._kernel.close_process(process)
            job.roots = alive
            if job.roots or not job.by_user:
                self.jobs[job.job] = job


def _saved(job: WatchedJob) -> dict[str, Any]:
    return {
        "job": job.job,
        "record": job.record.model_dump(exclude_none=True),
        "uid": job.uid,
        "group": None if job.group is None else str(job.group),
        "roots": {str(pid): started for pid, started in job.roots.items()},
        "limit": job.limit,
        "by_user": job.by_user,
        "is_named": job.is_named,
        "user": job.user,
    }


def _restored(saved: dict[str, Any]) -> WatchedJob:
    return WatchedJob(
        saved["job"],
        Record.model_validate(saved["record"]),
        saved["uid"],
        None if saved["group"] is None else Path(saved["group"]),
        {int(pid): started for pid, started in saved["roots"].items()},
        limit=saved["limit"],
        by_user=saved["by_user"],
        is_named=saved["is_named"],
        user=saved["user"],
    )
