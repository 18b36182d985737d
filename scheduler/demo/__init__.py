"""The demo: a real Slurm on this machine, batch jobs on it, an on-demand job, and a report of what came of it.

`scenario` says as data which jobs there are, `site` starts the cluster with Tierwise and ends it, `playing` submits the
jobs and watches them, `telling` shows that on a terminal, `outcome` puts together what happened from the cluster's own
accounting and journal, and `page` makes a report of it.
"""
