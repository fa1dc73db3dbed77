"""Helpers of tests of what a chain publishes."""
