"""What one visitor's page does; no Panel here."""
