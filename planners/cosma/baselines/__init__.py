"""The schemes that plans are compared with."""
