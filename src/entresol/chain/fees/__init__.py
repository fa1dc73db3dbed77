"""Base fees, L2 fees and the fee history."""
