"""`.pt2` files of `torch.export.save`, read as data."""
