"""Ask an OpenAI-compatible server for letters, texts and log-likelihoods."""

from ragkit_eval.endpoint.endpoint import Endpoint as Endpoint
from ragkit_eval.endpoint.failures import ServerGoneError as ServerGoneError
