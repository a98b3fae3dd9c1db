"""Export: rows and a first configuration in the forms that other trainers read."""
