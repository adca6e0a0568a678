# Two images of Hopwatch. `slim` holds the services that need no ROS and nothing else, not even a
# shell; `ros`, on the official ROS image, holds all programs. docs/running.md says how to use them.
#
# Needs BuildKit (cache mounts, and only the stages that are asked for are built): the usual builder
# of Docker since 23, DOCKER_BUILDKIT=1 before.

# The rust-version of Cargo.toml or later; its Debian's C library becomes that of `slim`.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG NODE_IMAGE=node:22-bookworm-slim
ARG ROS_IMAGE=ros:jazzy-ros-base
# Where the programs come from: the stages below, or images with the same two trees.
ARG SLIM_TREE=slim-from-source
ARG ROS_TREE=ros-from-source

FROM ${RUST_IMAGE} AS rust

# ---- the live page
FROM ${NODE_IMAGE} AS page
WORKDIR /hopwatch/web-ui
COPY web-ui/package.json web-ui/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY web-ui ./
RUN npm run build

# ---- the programs that need no ROS, and the few files that they need of a system
FROM rust AS slim-from-source
WORKDIR /hopwatch
RUN rm -f /etc/apt/apt.conf.d/docker-clean
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt,sharing=locked \
    apt-get update && apt-get install --yes --no-install-recommends build-essential ca-certificates
COPY . ./
COPY --from=page /hopwatch/web-ui/dist web-ui/dist
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/hopwatch/target,id=hopwatch-target-slim,sharing=locked \
    cargo build --release --locked -p hopwatch-cli \
    && bash containers/gather.sh slim /tree target/release

# ---- the programs that need ROS
FROM ${ROS_IMAGE} AS ros-from-source
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /hopwatch
RUN rm -f /etc/apt/apt.conf.d/docker-clean
RUN --mount=type=cache,target=/var/cache/apt,id=apt-ros,sharing=locked \
    --mount=type=cache,target=/var/lib/apt,id=apt-lists-ros,sharing=locked \
    apt-get update && apt-get install --yes --no-install-recommends build-essential libclang-dev python3-dev
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
COPY containers/ros-enter.sh /opt/hopwatch/enter
COPY ros/hopwatch_msgs ros/hopwatch_msgs
COPY ros/hopwatch_lab_msgs ros/hopwatch_lab_msgs
RUN bash /opt/hopwatch/enter bash -c 'for package in hopwatch_msgs hopwatch_lab_msgs; do \
        cmake -S ros/$package -B /tmp/build-msgs/$package \
            -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
            -DCMAKE_INSTALL_PREFIX=/opt/hopwatch/msgs -DPython3_EXECUTABLE="$(command -v python3)" \
        && cmake --build /tmp/build-msgs/$package --parallel \
        && cmake --install /tmp/build-msgs/$package || exit; \
    done'
COPY . ./
# The packages whose types r2r generates, as in ros/env/ros-env.sh. r2r makes them anew only when a
# variable changes: the mark tells it of changed messages.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/hopwatch/target,id=hopwatch-target-ros,sharing=locked \
    mark=$(cat ros/hopwatch_msgs/msg/*.msg ros/hopwatch_lab_msgs/msg/*.msg | sha256sum | cut -c 1-8) \
    && export IDL_PACKAGE_FILTER="builtin_interfaces;unique_identifier_msgs;action_msgs;rcl_interfaces;hopwatch_msgs;hopwatch_lab_msgs;hopwatch_msgs_$mark" \
    && bash /opt/hopwatch/enter cargo build --release --locked -p hopwatch-ros \
    && bash containers/gather.sh ros /tree target/release /opt/hopwatch/msgs

FROM ${SLIM_TREE} AS slim-tree
FROM ${ROS_TREE} AS ros-tree

# ---- hopwatch and the services that need no ROS: one program, and links to it
FROM scratch AS slim
COPY --from=slim-tree /tree/ /
# Folders that volumes are laid over: a new volume takes over whose they are.
COPY --from=slim-tree --chown=10001:10001 /tree/empty /data
COPY --from=slim-tree --chown=10001:10001 /tree/empty /run/hopwatch
USER 10001:10001
ENV PATH=/usr/bin
CMD ["hopwatch", "--help"]

# ---- gateway, simulated robots, and all the rest
FROM ${ROS_IMAGE} AS ros
COPY --from=ros-tree /tree/ /
COPY --from=slim-tree /tree/usr/bin/ /usr/bin/
COPY --from=slim-tree --chown=10001:10001 /tree/empty /data
COPY --from=slim-tree --chown=10001:10001 /tree/empty /run/hopwatch
COPY containers/ros-enter.sh /opt/hopwatch/enter
USER 10001:10001
# ROS writes logs to a home, and there is none.
ENV HOME=/tmp ROS_LOG_DIR=/tmp
ENTRYPOINT ["/bin/bash", "/opt/hopwatch/enter"]
CMD ["hopwatch", "--help"]

# ---- what makes packets get lost, for containers/loss.yml alone
FROM ${ROS_IMAGE} AS loss
RUN apt-get update && apt-get install --yes --no-install-recommends iptables \
    && rm -rf /var/lib/apt/lists/*
COPY containers/lose.sh /opt/hopwatch/lose
ENTRYPOINT ["/bin/bash", "/opt/hopwatch/lose"]
