"""The administrator's policy file: who may ask for what, who may be preempted, and what holds where nobody says.

The file is TOML. `model` says what may stand in it, `load` reads it and finds fault line by line, `effective` works out
what holds for one job and from which line.
"""

from scheduler.policy.effective import Effective, Who, effective
from scheduler.policy.load import Fault, PolicyFile, check, load
from scheduler.policy.model import Policy, Rule

__all__ = ["Effective", "Fault", "Policy", "PolicyFile", "Rule", "Who", "check", "effective", "load"]
