"""What differs between kinds of plans: whole tensors, fused groups, pools, streams."""
