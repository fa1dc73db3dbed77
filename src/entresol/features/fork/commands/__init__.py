"""The commands of forks."""
