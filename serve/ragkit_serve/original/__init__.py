"""A page of an original PDF as a picture, with the places of quotations on it."""
