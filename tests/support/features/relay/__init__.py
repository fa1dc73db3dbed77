"""Helpers of the tests of the relay."""
