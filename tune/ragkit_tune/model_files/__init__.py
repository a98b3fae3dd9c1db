"""The files of a model's folder: tensors, settings, a new folder, its card. No training."""
