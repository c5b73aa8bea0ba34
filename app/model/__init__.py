"""What is planned, viewed and displayed, as data; no Panel here."""
