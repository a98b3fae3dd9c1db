"""Statistics that several parts share: logistic regression, the area under a ROC curve."""
