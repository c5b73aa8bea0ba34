"""What a fused group costs: its buffer, and the bytes that it moves."""
