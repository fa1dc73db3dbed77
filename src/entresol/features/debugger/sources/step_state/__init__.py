"""The state before a step of a recorded execution: functions, memory, storage and variables."""
