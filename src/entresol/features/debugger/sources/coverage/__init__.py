"""Coverage: which parts of a source can be executed, which instructions belong to them, and which of them ran."""
