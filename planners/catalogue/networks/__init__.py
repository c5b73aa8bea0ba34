"""Networks that no package ships, written from their papers; one file a network."""
