"""Executions beside their sources: where they failed, and step by step."""
