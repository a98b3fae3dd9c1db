"""ragkit for other frameworks: LangChain and the Model Context Protocol."""
