"""A page as an address, and back; lectures of such addresses; no Panel here."""
