"""Fields, chips, rows and glyphs that views are made of."""
