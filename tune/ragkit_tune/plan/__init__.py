"""What a training run needs: memory, operations, time, and what fits which card."""
