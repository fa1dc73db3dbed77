"""A node of a cluster: its role, producing, joining, and the commands of operators."""
