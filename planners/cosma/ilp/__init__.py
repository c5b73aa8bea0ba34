"""The paper's ILP as it stands, solved or written to a file."""
