"""What a search does with its hits: duplicates, diversity, parents, neighbours."""
