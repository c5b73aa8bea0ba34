"""What is to be planned and how the page looks: fields, options, machines, files; no Panel here."""
