"""PyTorch modules, through `torch.export`."""
