#!/bin/sh
# Start vLLM with the key from its secret: on a command line every process could read it.
set -eu
VLLM_API_KEY=$(cat /run/secrets/llm_api_key)
export VLLM_API_KEY
exec python3 -m vllm.entrypoints.openai.api_server "$@"
