"""The settlement and system contracts on the project's engine."""
