"""What is planned, looked at and shown, as data; no Panel here."""
