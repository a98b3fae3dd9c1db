"""What pytest does with loggers, while a test's server makes some."""

import logging
from uuid import uuid4


def test_a_logger_may_be_made_while_they_are_listed() -> None:
    name = uuid4().hex
    listed = iter(logging.root.manager.loggerDict.values())
    next(listed)
    made = logging.getLogger(name)
    assert made not in listed  # it goes to the end: nothing is raised
    assert logging.root.manager.loggerDict[name] is made
