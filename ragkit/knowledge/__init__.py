"""Knowledge bases: search and answers over one collection, built from the settings."""
