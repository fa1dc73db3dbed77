"""Executions of sealed transactions, recorded step by step for a debugger."""
