"""Planning in separate processes: one pool for all sessions, and results kept on disk."""
