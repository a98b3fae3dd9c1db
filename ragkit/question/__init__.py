"""What to search for on behalf of a question: plans, wordings, follow-ups."""
