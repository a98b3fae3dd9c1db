# ragkit: `serve` and `worker` are commands of the same image.
FROM python:3.11.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/ragkit
WORKDIR /src
# The CPU build of torch: PyPI's own carries several GB of CUDA, which nothing here uses. Nothing
# else comes from that index. The lists are complete, and name the sha256 of every wheel.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY environments/torch.lock environments/release.lock environments/build.lock environments/
RUN /opt/ragkit/bin/pip install --no-deps --require-hashes --only-binary :all: \
        --index-url "$TORCH_INDEX" --requirement environments/torch.lock \
    && /opt/ragkit/bin/pip install --no-deps --require-hashes --only-binary :all: \
        --requirement environments/release.lock
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-deps --require-hashes --only-binary :all: \
        --requirement environments/build.lock
COPY pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
COPY ragkit ragkit
COPY ingest ingest
COPY serve serve
COPY eval eval
COPY tune tune
COPY examples/handbook/en examples/handbook/en
COPY examples/handbook/zh examples/handbook/zh
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/ragkit/bin/pip install --no-deps --no-index /dist/*.whl

FROM python:3.11.13-slim-bookworm
COPY --from=build /opt/ragkit /opt/ragkit
RUN groupadd --gid 10001 ragkit \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/ragkit --shell /usr/sbin/nologin ragkit \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/ragkit
ENV PATH=/opt/ragkit/bin:$PATH \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/var/lib/ragkit TMPDIR=/var/lib/ragkit RAGKIT_HOME=/var/lib/ragkit \
    HF_HUB_OFFLINE=1
WORKDIR /var/lib/ragkit
USER 10001:10001
EXPOSE 8080
CMD ["ragkit", "serve", "--no-worker"]
