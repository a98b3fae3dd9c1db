"""Conversations over a knowledge base: their memory, follow-up questions, summaries, export."""

from ragkit.conversation.dialogue import Conversation

__all__ = ["Conversation"]
