"""The replayer's inner loop, compiled: state, event heap, queue, backfilling.

The state is a handful of structured arrays, so that the loop reads like plain Python over records, costs about a
microsecond an event, and hands control back to Python wherever a policy has to be asked. `cosim.engine` is its only
user.
"""
