"""Figures of Theta's load, from which the generator draws.

Theta was a Cray XC40 of 4,392 nodes at the Argonne Leadership Computing Facility. Where the numbers come from:

- The wall time that a job of each size may ask for is the policy of Theta's `default` queue in ALCF's user guide:
  at least 128 nodes; under 256 nodes 3 hours, under 384 6 hours, under 640 9 hours, under 802 12 hours, above 24.
- All other numbers are marginal frequencies of the public job trace of 2022 (23,911 jobs, Standard Workload Format):
  the share of jobs per size class, the twelve commonest node counts of a class, the sixteen commonest requested
  times, rounded to five minutes, the 0th, 5th, ... 100th percentile of run time over requested time with overruns
  counted as 1, submissions by hour and weekday in Central Standard Time, and the lengths of runs of submissions
  that ask for the same within ten minutes of one another. The trace itself is not part of this project.
- `LOAD` is the utilisation of that year: node-seconds run over 4,360 nodes (the size that the trace's header
  states) times the time from the first submission to the last.

That such marginals, with the share of on-demand jobs, describe the load for studies of hybrid scheduling follows
Fan, Lan, Rich, Allcock and Papka, "Hybrid Workload Scheduling on HPC Systems" (IPDPS 2022), who take a tenth of
Theta's projects as on-demand. Users and projects are not in the trace; their number and skew are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

NODES = 4392
"""Compute nodes of Theta."""
LOAD = 0.76
"""Share of the node-seconds that ran jobs in 2022."""
USERS = 300
"""Users, an assumption; the k-th submits in proportion to 1/k."""
USERS_PER_ACCOUNT = 3
"""Users that share a project, an assumption."""


@dataclass(frozen=True)
class SizeClass:
    """The jobs between two node counts, which the queue policy treats alike.

    Attributes
    ----------
    lowest, highest : int
        Nodes, both included.
    share : float
        Share of all jobs.
    sizes : tuple of (int, float)
        The commonest node counts and their shares of the class; the rest is spread over the class.
    requests : tuple of (int, float)
        The commonest requested times [s] and their shares; they need not sum to 1.
    used : tuple of float
        Percentiles 0, 5, ..., 100 of run time over requested time.
    """

    lowest: int
    highest: int
    share: float
    sizes: tuple[tuple[int, float], ...]
    requests: tuple[tuple[int, float], ...]
    used: tuple[float, ...]


# fmt: off
CLASSES: tuple[SizeClass, ...] = (
    SizeClass(
        128, 255, 0.5993,
        ((128, 0.935), (192, 0.024), (144, 0.005), (216, 0.005), (150, 0.004), (136, 0.003), (140, 0.002),
         (160, 0.002), (129, 0.002), (130, 0.001), (242, 0.001), (132, 0.001)),
        ((10800, 0.479), (3600, 0.156), (1800, 0.115), (2400, 0.084), (7200, 0.061), (2700, 0.028), (5400, 0.014),
         (2100, 0.012), (10500, 0.011), (1200, 0.009), (6900, 0.005), (4800, 0.005), (8400, 0.004), (3000, 0.004),
         (9000, 0.004), (6000, 0.002)),
        (0.001, 0.012, 0.023, 0.042, 0.084, 0.146, 0.278, 0.400, 0.547, 0.665, 0.787, 0.861, 0.935, 0.973, 0.985,
         1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    SizeClass(
        256, 383, 0.1980,
        ((256, 0.921), (300, 0.026), (280, 0.005), (285, 0.004), (320, 0.004), (324, 0.004), (272, 0.003),
         (273, 0.003), (282, 0.003), (264, 0.003), (313, 0.003), (260, 0.003)),
        ((21600, 0.457), (3600, 0.164), (2400, 0.118), (10800, 0.075), (14400, 0.053), (7200, 0.045), (1800, 0.032),
         (21300, 0.013), (18000, 0.012), (19800, 0.005), (2700, 0.004), (5400, 0.003), (17700, 0.003),
         (3000, 0.002), (12600, 0.002), (16200, 0.001)),
        (0.001, 0.005, 0.016, 0.024, 0.051, 0.156, 0.298, 0.519, 0.686, 0.819, 0.898, 0.965, 0.979, 0.985, 0.995,
         1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    SizeClass(
        384, 639, 0.0805,
        ((512, 0.531), (384, 0.100), (400, 0.069), (540, 0.044), (600, 0.041), (504, 0.037), (500, 0.033),
         (480, 0.021), (632, 0.014), (416, 0.014), (420, 0.010), (560, 0.009)),
        ((32400, 0.301), (3600, 0.183), (21600, 0.097), (28800, 0.094), (7200, 0.082), (1800, 0.060), (10800, 0.050),
         (14400, 0.032), (30600, 0.022), (18000, 0.018), (25200, 0.015), (31200, 0.011), (5400, 0.006),
         (31800, 0.004), (2400, 0.003), (16200, 0.003)),
        (0.001, 0.006, 0.016, 0.029, 0.043, 0.153, 0.304, 0.417, 0.535, 0.646, 0.736, 0.842, 0.944, 0.982, 0.989,
         0.999, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    SizeClass(
        640, 801, 0.0169,
        ((640, 0.522), (768, 0.193), (700, 0.082), (648, 0.045), (800, 0.040), (704, 0.037), (715, 0.020),
         (702, 0.015), (794, 0.012), (750, 0.007), (650, 0.005), (680, 0.005)),
        ((43200, 0.324), (3600, 0.116), (10800, 0.089), (36000, 0.077), (1800, 0.052), (18000, 0.050), (28800, 0.047),
         (5400, 0.040), (32400, 0.030), (12600, 0.030), (3900, 0.030), (2400, 0.017), (21600, 0.015), (9900, 0.012),
         (7200, 0.012), (23400, 0.012)),
        (0.001, 0.002, 0.009, 0.017, 0.046, 0.106, 0.254, 0.422, 0.548, 0.663, 0.733, 0.827, 0.935, 0.965, 0.978,
         1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    SizeClass(
        802, 4392, 0.1053,
        ((1024, 0.476), (804, 0.084), (2048, 0.055), (875, 0.054), (802, 0.042), (957, 0.020), (2400, 0.017),
         (1620, 0.017), (1536, 0.015), (808, 0.012), (1408, 0.012), (3180, 0.011)),
        ((86400, 0.220), (1800, 0.186), (10800, 0.119), (21600, 0.090), (7200, 0.057), (3600, 0.054), (43200, 0.047),
         (14400, 0.040), (86100, 0.027), (10500, 0.021), (36000, 0.018), (32400, 0.016), (28800, 0.014),
         (18000, 0.011), (72000, 0.010), (12600, 0.008)),
        (0.0, 0.004, 0.025, 0.078, 0.174, 0.338, 0.468, 0.574, 0.694, 0.727, 0.757, 0.819, 0.913, 0.984, 0.996,
         1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
)
"""The size classes of the queue policy."""

BY_HOUR = (
    0.0379, 0.0378, 0.0341, 0.0381, 0.0441, 0.0394, 0.0368, 0.0237, 0.0241, 0.0278, 0.0254, 0.0182,
    0.0246, 0.0394, 0.0501, 0.0575, 0.0606, 0.0626, 0.0498, 0.0570, 0.0598, 0.0572, 0.0504, 0.0436,
)
"""Share of the submissions by hour of the day, Central Standard Time, from midnight."""

BY_WEEKDAY = (0.1548, 0.1533, 0.1587, 0.1385, 0.1043, 0.1340, 0.1564)
"""Share of the submissions by weekday, from Monday."""

RUNS = (
    0.7787, 0.1241, 0.0374, 0.0187, 0.0107, 0.0080, 0.0041, 0.0038, 0.0022, 0.0028, 0.0014,
    0.0016, 0.0009, 0.0009, 0.0006, 0.0009, 0.0005, 0.0005, 0.0006, 0.0017,
)
"""Share of the runs of like submissions by their length, from 1."""

RUN_GAP_MEDIAN = 14.0
"""Median time between the submissions of a run [s]."""
RUN_GAP_90 = 212.0
"""90th percentile of the same [s]."""
# fmt: on
