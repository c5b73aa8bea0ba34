"""Other people's models as graphs; each importer is imported by itself, torch only where needed."""
