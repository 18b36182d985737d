"""The controller: watches Slurm's queue, asks the policy, and carries out what it decides.

Every intent is in the journal before it is acted on, and each act can be done twice without harm, so that a controller
that dies at any point goes on where it stopped.
"""
