"""What tests share: clients, nodes, peers, chains, and checks that more than one file needs."""
