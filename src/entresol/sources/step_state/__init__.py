"""What is there before a step of a recorded execution: functions, memory, storage and variables."""
