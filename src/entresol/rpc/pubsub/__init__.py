"""Filters and subscriptions."""
