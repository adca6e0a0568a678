# shellcheck shell=bash
# The engine that the proof runs on: one that answers already, or one of its own that leaves nothing.
#
# Expects `root`, `work`, `run` (a folder below /run), `programs`, and `set -e`.
# shellcheck disable=SC2034,SC2154 # these come from outside, or go there

own_engine=

cannot() {
    echo "skipped: $*"
    exit 77
}

# Decides, before anything is changed.
choose_engine() {
    [[ $EUID -eq 0 ]] || cannot 'only root can start an engine, and end a process in a container'
    ! docker info >/dev/null 2>&1 || return 0
    command -v dockerd >/dev/null || command -v apt-get >/dev/null ||
        cannot 'no Docker engine is installed, and there is no apt-get'
    grep -q ' /sys/fs/cgroup' /proc/self/mounts || cannot 'there are no control groups'
    own_engine=yes
}

install_engine() {
    local entry packages=()
    for entry in dockerd:docker.io debootstrap:debootstrap; do
        [[ -n $own_engine ]] || break
        command -v "${entry%%:*}" >/dev/null || packages+=("${entry#*:}")
    done
    if ! docker compose version >/dev/null 2>&1 && ! command -v docker-compose >/dev/null; then
        packages+=(docker-compose)
    fi
    for entry in curl:curl python3:python3 ss:iproute2; do
        command -v "${entry%%:*}" >/dev/null || packages+=("${entry#*:}")
    done
    if [[ ${#packages[@]} -gt 0 ]]; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        apt-get install --yes --no-install-recommends "${packages[@]}"
    fi
}

# A client since 23 builds by a plug-in, an older one by itself: Debian's engine brings no plug-in.
builds() {
    local version
    version=$("$1" --version 2>/dev/null | sed -n 's/^Docker version \([0-9]*\).*/\1/p')
    [[ -n $version ]] || return 1
    ((version < 23)) || "$1" buildx version >/dev/null 2>&1
}

find_commands() {
    local candidate
    docker=
    for candidate in $(type -ap docker) /usr/bin/docker; do
        if builds "$candidate"; then
            docker=$candidate
            break
        fi
    done
    [[ -n $docker ]] || cannot 'no docker command here can build with BuildKit'
    # docker-compose calls `docker`.
    mkdir -p "$work/bin"
    ln -sf "$docker" "$work/bin/docker"
    export PATH=$work/bin:$PATH
    if "$docker" compose version >/dev/null 2>&1; then
        compose_command=("$docker" compose)
    else
        compose_command=(docker-compose)
    fi
    browser=
    if command -v "${CHROMIUM:-chromium}" >/dev/null && [[ -d $root/e2e/browser/node_modules ]]; then
        CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
        export CHROMIUM
        browser=yes
    fi
    # On an engine of its own the stand-ins bear the official names: the files are used as they are.
    local prefix=
    if [[ -n $own_engine ]]; then
        export DOCKER_HOST=unix://$run/docker.sock
    else
        prefix=hopwatch-standin/
    fi
    export RUST_IMAGE=${prefix}rust:1.95-slim-bookworm NODE_IMAGE=${prefix}node:22-bookworm-slim \
        ROS_IMAGE=${prefix}ros:jazzy-ros-base
    if [[ -n $programs ]]; then
        export SLIM_TREE=hopwatch-standin:slim-tree ROS_TREE=hopwatch-standin:ros-tree
    fi
}

start_engine() {
    [[ -n $own_engine ]] || return 0
    mkdir -p "$run" "$work/engine"
    cat /proc/sys/net/ipv4/ip_forward >"$run/ip_forward"
    [[ ! -e /etc/docker ]] || touch "$run/had_settings"
    # Where forwarding is on already, the engine leaves the policy for others' packets alone.
    echo 1 >/proc/sys/net/ipv4/ip_forward
    setsid dockerd --data-root "$work/engine" --exec-root "$run/exec" --pidfile "$run/docker.pid" \
        --host "unix://$run/docker.sock" >"$run/log" 2>&1 &
    local tries
    for ((tries = 0; tries < 150; tries++)); do
        ! "$docker" info >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    tail -n 20 "$run/log"
    return 1
}

make_standins() {
    if [[ -n $programs ]]; then
        make_ros_to_run "$root/.hopwatch/ros"
        import_programs "$programs" "$root/.hopwatch/msgs"
        # Named in the Dockerfile, and not built from.
        "$docker" tag "$base" "$RUST_IMAGE"
        "$docker" tag "$base" "$NODE_IMAGE"
    else
        make_node
        make_rust
        make_ros
    fi
}

# On somebody's engine, what was made here goes; build caches stay to be reused.
remove_images() {
    [[ -z $own_engine ]] || return 0
    "$docker" image rm "$IMAGES:slim" "$IMAGES:ros" "$IMAGES:loss" "$RUST_IMAGE" "$NODE_IMAGE" \
        "$ROS_IMAGE" "$base" hopwatch-standin:slim-tree hopwatch-standin:ros-tree
}

stop_engine() {
    local pid tries
    [[ -n $own_engine && -f $run/docker.pid ]] || return 0
    pid=$(<"$run/docker.pid")
    kill -TERM "$pid"
    for ((tries = 0; tries < 200; tries++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    ! kill -0 "$pid" 2>/dev/null || {
        echo "the engine, process $pid, doesn't end" >&2
        return 1
    }
    # Network namespaces and file systems that it had mounted.
    awk -v a="$run/" -v b="$work/" 'index($2, a) == 1 || index($2, b) == 1 { print $2 }' \
        /proc/self/mounts | sort -r | while read -r mounted; do umount "$mounted" || true; done
    remove_rules iptables
    remove_rules ip6tables
    ip link del docker0 2>/dev/null || true
    [[ -e $run/had_settings ]] || rm -rf /etc/docker
    cat "$run/ip_forward" >/proc/sys/net/ipv4/ip_forward
    rm -rf "$run"
}

# The engine leaves its chains behind, and the rules that lead there.
remove_rules() {
    local command=$1 table rule chain
    command -v "$command" >/dev/null || return 0
    for table in filter nat; do
        "$command" -t "$table" -S 2>/dev/null | grep -E -- '-A (FORWARD|OUTPUT|PREROUTING|POSTROUTING) .*(DOCKER|docker0|172\.17\.)' |
            while read -r rule; do
                # shellcheck disable=SC2086 # words of a rule
                "$command" -t "$table" ${rule/-A/-D} || true
            done
        for chain in $("$command" -t "$table" -S 2>/dev/null | sed -n 's/^-N \(DOCKER.*\)/\1/p'); do
            "$command" -t "$table" -F "$chain" || true
        done
        for chain in $("$command" -t "$table" -S 2>/dev/null | sed -n 's/^-N \(DOCKER.*\)/\1/p'); do
            "$command" -t "$table" -X "$chain" || true
        done
    done
}
