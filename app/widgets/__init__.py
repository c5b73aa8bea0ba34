"""Fields, chips, rows and glyphs that views are built from."""
