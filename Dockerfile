# syntax=docker/dockerfile:1
# Two stages: the toolchain stays behind, the second holds one binary and its user.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY Cargo.toml Cargo.lock rust-toolchain.toml ./
COPY benches benches
COPY src src
COPY tests tests
RUN cargo build --locked --release --bin toold

FROM debian:bookworm-slim
RUN groupadd --system --gid 10001 toold \
    && useradd --system --uid 10001 --gid toold --home-dir /nonexistent --shell /usr/sbin/nologin toold \
    && install -d -o toold -g toold -m 0700 /var/lib/toold \
    && install -d -o toold -g toold -m 0755 /srv/workspace
COPY --from=build /build/target/release/toold /usr/local/bin/toold
COPY deploy/toold.toml /etc/toold/toold.toml
USER toold

# The state is /var/lib/toold; the workspace is the directory that the daemon starts in.
ENV XDG_STATE_HOME=/var/lib
# A bind beyond loopback needs tokens in the configuration: the one copied above has a placeholder
# that nothing matches. Mount your own over it.
ENV TOOLD_SERVER__LISTEN=0.0.0.0:7878
WORKDIR /srv/workspace
VOLUME ["/var/lib/toold", "/srv/workspace"]
EXPOSE 7878

# The image holds no HTTP client to ask with: let the orchestrator probe /healthz and /readyz.
HEALTHCHECK NONE
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/toold"]
CMD ["serve", "--config", "/etc/toold/toold.toml"]
