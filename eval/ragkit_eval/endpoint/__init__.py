"""Ask an OpenAI-compatible server, in the three ways that tasks are asked."""

from ragkit_eval.endpoint.endpoint import Endpoint as Endpoint
from ragkit_eval.endpoint.failures import ServerGoneError as ServerGoneError
