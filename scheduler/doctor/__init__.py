"""What is there on a node, what is missing, what that costs, and the command that mends it.

`facts` looks, one file a family, each with a time limit; `checks` judges what was found with pure functions. To add a
check: write a function that takes its family's facts and returns a `Finding`, and name it in that file's `CHECKS`.
"""

from scheduler.doctor.examining import Report, examine
from scheduler.doctor.finding import FAIL, LEVELS, MISSING, OK, ROLES, WARN, Check, Finding

__all__ = ["FAIL", "LEVELS", "MISSING", "OK", "ROLES", "WARN", "Check", "Finding", "Report", "examine"]
