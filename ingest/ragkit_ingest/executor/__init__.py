"""Where the stages run: threads of this process, or Ray."""
