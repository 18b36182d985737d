"""Tiered memory: the tiers of a node, which pages go where, and the agent that moves them.

`policy` decides (pure functions of a snapshot), `agent` looks and acts through `kernel`, the only part that touches
the running kernel. Other packages talk to the agent over its socket.
"""
