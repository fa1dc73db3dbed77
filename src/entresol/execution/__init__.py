"""Running a transaction, a call, an estimate or a trace against a state."""
