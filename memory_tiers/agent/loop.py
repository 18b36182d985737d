"""The control loop: look, decide, act; rarely where nothing is short, and closely behind a scan."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from memory_tiers.agent.acting import carry_out, set_limit, slices
from memory_tiers.agent.finding import add_roots, find_group, refresh, release, step_daemons
from memory_tiers.agent.looking import follow, look
from memory_tiers.agent.protocol import Deregister, RefusedError, Register, answer, parse
from memory_tiers.agent.registry import Registry
from memory_tiers.agent.server import Caller
from memory_tiers.agent.watched import WatchedJob
from memory_tiers.kernel.seam import Kernel
from memory_tiers.policy import Move, NodeView, Settings, TierClass, Way, decide, headroom
from memory_tiers.policy.backing_off import BackOff, noted
from memory_tiers.policy.deciding import is_walked, moves_of

YIELDING = 5
"""Niceness of moving pages while others than capacity jobs run: a third of the weight that they have. Answers and
decisions are never put back, so that a busy node still hears of its jobs in time."""

Log = Callable[..., None]
"""Takes the name of an event, and fields."""


@dataclass(frozen=True)
class Rhythm:
    """How often the loop looks [s].

    Attributes
    ----------
    idle : float
        With no jobs.
    calm : float
        While everything fits into DRAM.
    pressed : float
        While it does not.
    longest_moving : float
        After so long the loop sees whether anybody calls, whatever is left to move.
    look_share : float
        The share of the time that looking may take; looks come more rarely where they cost more.
    close : float
        Behind a scan that has not got on since the last look.
    """

    idle: float = 1.0
    calm: float = 0.5
    pressed: float = 0.1
    longest_moving: float = 0.05
    look_share: float = 0.02
    close: float = 0.003


class Agent:
    """One node's agent.

    Parameters
    ----------
    kernel : Kernel
        The seam.
    registry : Registry
        The jobs.
    near : callable
        Returns the DRAM that the jobs may use together [bytes].
    settings : Settings
        The policy's.
    log : callable
        Takes events.
    """

    def __init__(
        self, kernel: Kernel, registry: Registry, near: Callable[[], int], settings: Settings, log: Log
    ) -> None:
        self._kernel, self._registry, self._near, self._settings, self._log = kernel, registry, near, settings, log
        self._rhythm = Rhythm()
        self._next_look = 0.0
        self._node = NodeView(0, 0, ())
        self._moving = 0.0
        self._looking = 0.0
        self._began = time.monotonic()
        self._cpus = frozenset[int]()
        self._niceness = 0
        self._harm = BackOff()
        self._expected = headroom.Expected()

    def handle(self, line: bytes, caller: Caller) -> bytes:
        """Answer a request; see `memory_tiers.agent.protocol`."""
        try:
            request = parse(line)
            if isinstance(request, Register):
                self._registry.register(request, caller)
                self._log("registered", job=request.job, by=caller.uid, record=request.record.model_dump())
                # Room is made before the job's first page: the caller starts it after our answer.
                self.tick()
                return answer({"ok": True})
            if isinstance(request, Deregister):
                ended = self._registry.deregister(request, caller)
                if ended is not None:
                    self._drop(ended)
                return answer({"ok": True})
            return answer({"ok": True} | self.status(caller))
        except RefusedError as refusal:
            self._log("refused", by=caller.uid, reason=str(refusal))
            return answer({"ok": False, "error": str(refusal)})

    def _drop(self, ended: WatchedJob) -> None:
        set_limit(ended, None, self._kernel)
        release(ended, self._kernel)
        self._next_look = 0.0
        self._log("deregistered", job=ended.job, moved_out=ended.moved_out, moved_in=ended.moved_in)

    def step(self) -> float:
        """Do what is due; return how long nothing will be [s]."""
        now = time.monotonic()
        if now >= self._next_look:
            self.tick()
        if self._follow_scans():
            return 0.0
        regions = (region for job in self._registry.jobs.values() for region in job.regions.values())
        close_by = any(region.closer or is_walked(region.view()) for region in regions)
        close = self._rhythm.close if close_by else self._rhythm.idle
        return max(0.0, min(close, self._next_look - time.monotonic()))

    def tick(self) -> None:
        """Look at everything, decide, and act once."""
        jobs = self._registry.jobs
        began = time.monotonic()
        if jobs:
            self._find_processes()
        looked = sum(look(job, self._kernel) for job in jobs.values())
        self._looking += looked
        self._note_harm(began)
        areas = self._kernel.swap_areas()
        far_free = sum(area.size - area.used for area in areas)
        views = tuple(job.view() for job in jobs.values())
        held = sum(max(view.promised, view.footprint) for view in views if view.tier_class is TierClass.SHORT)
        self._expected = headroom.noted(self._expected, began, held)
        self._node = NodeView(
            self._near(), far_free, views, self._expected.headroom(held), backed_off=self._harm.is_on(began)
        )
        plan = decide(self._node, self._settings)
        for number, target in plan.targets.items():
            jobs[number].target = target
        self._carry_out(plan.moves)
        for number, limit in plan.limits.items():
            self._limit(jobs[number], limit)
        self._keep_off_bound_cores()
        pressed = self._node.near * 0.9 < sum(max(job.footprint, job.promised) for job in self._node.jobs)
        period = self._rhythm.idle if not jobs else self._rhythm.pressed if pressed else self._rhythm.calm
        self._next_look = began + max(period, looked / self._rhythm.look_share)

    def _note_harm(self, now: float) -> None:
        jobs = self._registry.jobs.values()
        went, back = sum(job.pages_went for job in jobs), sum(job.pages_back for job in jobs)
        for job in jobs:
            job.pages_went = job.pages_back = 0
        before = self._harm.is_on(now)
        self._harm = noted(self._harm, now, went, back)
        if self._harm.is_on(now) and not before:
            self._log("backing_off", seconds=self._harm.until - now)

    def _find_processes(self) -> None:
        jobs = self._registry.jobs.values()
        treed = [job for job in jobs if job.group is None]
        sought = [job for job in treed if not job.is_named]
        if sought:
            root = self._kernel.group_root()
            daemons = self._kernel.command_lines("slurmstepd")
            for job in sought:
                job.group = None if root is None else find_group(root, job.job, job.uid, None)
                add_roots(job, step_daemons(job.job, daemons), self._kernel)
        parents = self._kernel.parents() if treed else None
        for job in jobs:
            refresh(job, self._kernel, parents)

    def _follow_scans(self) -> bool:
        """Keep scans supplied; tell whether anything was moved."""
        moved = False
        for job in self._registry.jobs.values():
            pace = self._settings.pace
            for region in job.regions.values():
                if is_walked(region.view()) or region.closer:
                    region.closer = max(0, region.closer - 1)
                    follow(region, self._kernel, pace.ahead + 2 * pace.lead)
            if not any(is_walked(region.view()) for region in job.regions.values()):
                continue
            moves = moves_of(job.view(), job.target, self._node, self._settings)
            moved |= self._carry_out(sorted(moves, key=lambda move: move.way is not Way.OUT))
        return moved

    def _limit(self, job: WatchedJob, limit: int | None) -> None:
        before = job.limit
        code = set_limit(job, limit, self._kernel)
        if job.limit != before:
            self._registry.save()
            self._log("limit", job=job.job, limit=job.limit, errno=code)

    def _carry_out(self, moves: Iterable[Move]) -> bool:
        """Move slice by slice until the time is over; what is left is decided anew. Tell whether anything was moved."""
        amount = 0
        began = time.monotonic()
        self._kernel.be_nice(self._niceness)
        for part in (part for move in moves for part in slices(move)):
            moved = carry_out(part, self._registry.jobs[part.job], self._kernel)
            self._moving += moved.seconds
            amount += moved.amount
            if time.monotonic() - began > self._rhythm.longest_moving:
                break
        self._kernel.be_nice(0)
        return amount > 0

    def _keep_off_bound_cores(self) -> None:
        """Leave cores to the latency-sensitive jobs that are bound to them, as long as others are left."""
        taken: frozenset[int] = frozenset()
        everywhere = self._kernel.online_cpus()
        for job in self._registry.jobs.values():
            for process in job.processes.values() if job.tier_class is TierClass.LATENCY else ():
                cpus = self._kernel.allowed_cpus(process)
                taken |= cpus if len(cpus) < len(everywhere) else frozenset()
        wanted = everywhere - taken or everywhere
        if wanted != self._cpus:
            self._kernel.run_only_on(wanted)
            self._cpus = wanted
        # Moving a capacity job's pages is work for that job: it must not take processor time from the others.
        jobs = self._registry.jobs.values()
        others = any(job.processes and job.tier_class is not TierClass.CAPACITY for job in jobs)
        self._niceness = YIELDING if others else 0

    def status(self, caller: Caller) -> dict[str, Any]:
        """Return what is seen and done: to root of all jobs, to a user of the user's own."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        shown = [job for job in self._registry.jobs.values() if caller.uid in (0, job.uid)]
        return {
            "near": self._node.near,
            "far_free": self._node.far_free,
            "headroom": self._node.headroom,
            "seconds": time.monotonic() - self._began,
            "processor": used.ru_utime + used.ru_stime,
            "moving": self._moving,
            "looking": self._looking,
            "backed_off": self._harm.is_on(time.monotonic()),
            "jobs": [
                {
                    "job": job.job,
                    "class": job.tier_class.value,
                    "resident": job.resident(),
                    "swapped": job.swapped(),
                    "target": job.target,
                    "limit": job.limit,
                    "processes": sorted(job.processes),
                    "moved_out": job.moved_out,
                    "moved_in": job.moved_in,
                    "walks": [
                        {"position": region.walk.position, "trust": round(region.walk.trust, 2)}
                        for region in job.regions.values()
                        if region.walk is not None
                    ],
                }
                for job in shown
            ],
        }

    def undo(self) -> None:
        """Lift every limit that we set, and let go of all processes."""
        for job in self._registry.jobs.values():
            set_limit(job, None, self._kernel)
            release(job, self._kernel)
        self._registry.save()


def log_to_stderr(event: str, **fields: object) -> None:
    """Write an event as a JSON line on standard error."""
    line = {"time": round(time.time(), 3), "event": event} | fields
    print(json.dumps(line, default=str), file=sys.stderr, flush=True)
