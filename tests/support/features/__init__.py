"""Helpers of the tests of features, one folder each."""
