"""Demand Layering: parameters layer by layer, its tables and figures computed anew."""
