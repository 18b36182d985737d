"""The seam to the Linux kernel's memory management: typed calls, each in a small file; partial results are data.

`seam.Kernel` is what the rest of the package asks for; `real.RealKernel` is the running kernel, `dry_run.DryRunKernel`
looks and does not touch. Only this folder knows system call numbers and paths under /proc and /sys.
"""

from memory_tiers.kernel.dry_run import DryRunKernel
from memory_tiers.kernel.real import RealKernel
from memory_tiers.kernel.seam import Kernel

__all__ = ["DryRunKernel", "Kernel", "RealKernel"]
