"""Planning in processes of its own: one pool for all sessions, and results kept on disk."""
