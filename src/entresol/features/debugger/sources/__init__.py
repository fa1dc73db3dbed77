"""The sources of contracts: what compilers say of their code, and where in it an execution failed."""
