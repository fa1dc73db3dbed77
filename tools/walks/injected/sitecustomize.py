"""Records the calls of a process that `tools.walks` starts; Python imports it before anything else."""

from tools.walks.recorder import record_by_signal

record_by_signal()
