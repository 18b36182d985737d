"""Which pages go to which tier: pure functions of a snapshot, for the live agent and for the off-line model alike."""

from memory_tiers.policy.deciding import Settings, decide
from memory_tiers.policy.views import JobView, Move, NodeView, Plan, RegionView, TierClass, Walk, Way

__all__ = ["JobView", "Move", "NodeView", "Plan", "RegionView", "Settings", "TierClass", "Walk", "Way", "decide"]
