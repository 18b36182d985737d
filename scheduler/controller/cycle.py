"""One controller cycle: observe, carry on with what is planned, decide, begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.controller.acting import Hands
from scheduler.controller.deciding import Intent, Site, decide
from scheduler.controller.journal import CLOSED, Journal
from scheduler.slurm.seam import Slurm, SlurmError


@dataclass
class Controller:
    """Watches one cluster.

    Attributes
    ----------
    slurm : Slurm
        The cluster.
    journal : Journal
        Its journal.
    site : Site
        What to decide by; may be replaced between cycles.
    say : callable
        Takes one line about each thing that was done or refused.
    dry_run : bool
        Decide and say, but do nothing.
    """

    slurm: Slurm
    journal: Journal
    site: Site
    say: Callable[[str], None]
    dry_run: bool = False
    _said: set[int] = field(default_factory=set)

    def cycle(self, now: float) -> tuple[Intent, ...]:
        """Run one cycle.

        Parameters
        ----------
        now : float
            The time [s].

        Returns
        -------
        tuple of Intent
            What was decided in it.

        Raises
        ------
        SlurmError
            Where the cluster cannot be observed; nothing has been done then.
        """
        nodes, jobs = self.slurm.nodes(), self.slurm.jobs()
        intents = decide(self.site, now, nodes, jobs, self.journal.open_plans())
        if self.dry_run:
            for intent in intents:
                if intent.plan.job not in self._said:
                    self._said.add(intent.plan.job)
                    self.say(f"would: {intent.explanations[intent.plan.job]}")
            return intents
        for intent in intents:
            self.journal.begin(intent.plan, intent.explanations)
            self.say(intent.explanations[intent.plan.job])
        by_id = {job.id: job for job in jobs}
        hands = Hands(self.slurm, self.journal)
        for plan in self.journal.open_plans():
            try:
                moved = hands.step(plan, now, by_id)
            except SlurmError as error:
                self.say(f"job {plan.job}: {plan.state} will be tried again: {error}")
                continue
            if moved.state != plan.state:
                done = "closed, its reservation is gone" if moved.state == CLOSED else f"{plan.state} -> {moved.state}"
                self.say(f"job {plan.job}: {done}")
        return intents
