"""What training runs show: their curves, their figures side by side, exports for other programs."""
