"""Co-simulation: the decision whom to preempt, and the replayer that plays a trace against it."""
