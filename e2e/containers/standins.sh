# shellcheck shell=bash
# Images that stand in for the official ones where no registry of images can be reached: Debian by
# debootstrap, with this machine's Rust, Node.js and ROS wheels put where the official images have
# theirs. They hold this machine's certificates and settings for package registries, too.
#
# Expects `root`, `work` (a folder), `docker` (a command), `release` and `mirror` of Debian, the names
# RUST_IMAGE, NODE_IMAGE, ROS_IMAGE, probe.sh, engine.sh, and `set -e`.
# shellcheck disable=SC2154,SC2164 # these come from outside; `set -e` sees to failing cd

base=hopwatch-standin:debian

# Prints what an image needs to reach package registries as this machine does.
registry_settings() {
    local name
    for name in SSL_CERT_FILE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE \
        CARGO_HTTP_CAINFO http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [[ -z ${!name-} ]] || printf -- '--change\nENV %s=%s\n' "$name" "${!name}"
    done
}

# Debian in a folder; needs no engine.
make_tree() {
    local tree=$work/debian
    debootstrap --variant=minbase --include=ca-certificates "$release" "$tree" "$mirror"
    [[ -z $programs ]] || check_c_library "$tree"
    cp /usr/local/share/ca-certificates/*.crt "$tree/usr/local/share/ca-certificates/" || true
    cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/usr/share/{doc,man,locale}
}

make_base() {
    local tree=$work/debian settings
    mapfile -t settings < <(registry_settings)
    tar -C "$tree" -c . | "$docker" import "${settings[@]}" --change 'CMD ["bash"]' - "$base"
    remove_folder "$tree"
}

# As rust:…-slim-bookworm has it: CARGO_HOME and RUSTUP_HOME in /usr/local, and a linker.
make_rust() {
    local context=$work/rust toolchain
    toolchain=$(rustc --print sysroot)
    mkdir -p "$context/toolchain"
    cp -a "$toolchain"/{bin,lib} "$context/toolchain/"
    cat >"$context/Dockerfile" <<'END'
FROM hopwatch-standin:debian
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY toolchain /usr/local/rustup/toolchains/machine
RUN mkdir -p /usr/local/cargo/bin \
    && ln -s /usr/local/rustup/toolchains/machine/bin/* /usr/local/cargo/bin/
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
END
    "$docker" build -q -t "$RUST_IMAGE" "$context"
    rm -rf "$context"
}

make_node() {
    local context=$work/node modules
    modules=$(npm root -g)
    mkdir -p "$context/npm"
    cp -a "$modules/npm/." "$context/npm/"
    cp "$(readlink -f "$(command -v node)")" "$context/node"
    cat >"$context/Dockerfile" <<'END'
FROM hopwatch-standin:debian
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
    && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx && npm --version
END
    "$docker" build -q -t "$NODE_IMAGE" "$context"
    rm -rf "$context"
}

# What /opt/ros/jazzy/setup.bash sets, for the wheels.
write_setup() {
    cat >"$1" <<'END'
prefix=/opt/ros/jazzy
export ROS_DISTRO=jazzy RMW_IMPLEMENTATION=rmw_fastrtps_cpp _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
export AMENT_PREFIX_PATH=$prefix CMAKE_PREFIX_PATH=$prefix
LD_LIBRARY_PATH=$prefix/lib
for folder in "$prefix"/lib/python3*/site-packages/ros_*.libs; do
    LD_LIBRARY_PATH+=:$folder
done
export LD_LIBRARY_PATH PATH=$prefix/bin:$PATH
unset prefix folder
END
}

# To build with: the pinned wheels, installed in the image, and the tools that ros-base brings.
make_ros() {
    local context=$work/ros
    mkdir -p "$context"
    cp "$root"/ros/env/requirements*.txt "$root/ros/env/fix_wheels.py" "$context/"
    write_setup "$context/setup.bash"
    cat >"$context/Dockerfile" <<'END'
FROM hopwatch-standin:debian
RUN apt-get update && apt-get install --yes --no-install-recommends \
        build-essential python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY requirements* fix_wheels.py /tmp/
RUN python3 -m venv /opt/ros/jazzy \
    && pip="/opt/ros/jazzy/bin/python -m pip install --no-cache-dir --no-deps --require-hashes" \
    && $pip --only-binary :all: -r /tmp/requirements-build.txt \
    && $pip --no-build-isolation -r /tmp/requirements.txt \
    && /opt/ros/jazzy/bin/python /tmp/fix_wheels.py
COPY setup.bash /opt/ros/jazzy/setup.bash
ENV ROS_DISTRO=jazzy
END
    "$docker" build -q -t "$ROS_IMAGE" "$context"
    rm -rf "$context"
}

# To run in: the libraries of the wheels that are prepared here already.
make_ros_to_run() {
    local prefix=$1 context=$work/ros
    mkdir -p "$context/jazzy"
    (
        cd "$prefix"
        find lib share -path '*/site-packages/*' ! -path '*/ros_*.libs*' -prune -o \
            ! -type d -print0 | xargs -0 cp -a --parents -t "$context/jazzy"
    )
    write_setup "$context/jazzy/setup.bash"
    cat >"$context/Dockerfile" <<'END'
FROM hopwatch-standin:debian
COPY jazzy /opt/ros/jazzy
ENV ROS_DISTRO=jazzy
END
    "$docker" build -q -t "$ROS_IMAGE" "$context"
    rm -rf "$context"
}

# The programs that are built here already, as images with the trees that the Dockerfile builds.
import_programs() {
    local programs=$1 messages=$2 tree=$work/programs
    bash "$root/containers/gather.sh" slim "$tree/slim/tree" "$programs"
    bash "$root/containers/gather.sh" ros "$tree/ros/tree" "$programs" "$messages"
    tar -C "$tree/slim" --owner 0 --group 0 -c tree | "$docker" import - "$SLIM_TREE"
    tar -C "$tree/ros" --owner 0 --group 0 -c tree | "$docker" import - "$ROS_TREE"
    rm -rf "$tree"
}
