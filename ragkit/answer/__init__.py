"""From passages to an answer: choosing or writing it, citing it, checking it, or refusing.

It knows nothing of how the passages were found or where they are stored.
"""
