"""Language models on the owner's own machines: served, planned, quantized, measured, balanced."""
