"""The settings: their values, where these come from, and what is wrong with one."""
