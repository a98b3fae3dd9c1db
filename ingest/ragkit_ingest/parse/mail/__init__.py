"""E-mails, and what is attached to them."""
