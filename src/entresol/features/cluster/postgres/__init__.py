"""A cluster of nodes on PostgreSQL: canonical log, lease, pool, and following them."""
