"""What replays and scoreboards share: what they say, and the rules that both keep."""
