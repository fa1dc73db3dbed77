"""The debugger: what a transaction executed, by the lines of its sources."""
