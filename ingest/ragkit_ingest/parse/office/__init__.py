"""Office and OpenDocument files: documents, workbooks, presentations."""
