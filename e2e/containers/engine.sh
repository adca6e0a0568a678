# shellcheck shell=bash
# The engine that the proof runs on: one that answers already, or one of its own that leaves nothing.
#
# Expects `root`, `work`, `run` (a folder below /run), `programs`, probe.sh, and `set -e`.
# shellcheck disable=SC2034,SC2154 # these come from outside, or go there

own_engine=
# What an engine changes besides.
settings=(/proc/sys/net/ipv4/ip_forward /proc/sys/net/bridge/bridge-nf-call-{iptables,ip6tables})

# Decides, and changes nothing. It is asked again when packages are installed: Debian starts an engine
# that it installs, and that one is used then.
choose_engine() {
    local here there
    [[ $EUID -eq 0 ]] || cannot 'only root can start an engine, and end a process in a container'
    own_engine=
    if docker info >/dev/null 2>&1; then
        # Its ports and processes are looked at.
        here="$(uname -n) $(uname -r)"
        there=$(docker info --format '{{.Name}} {{.KernelVersion}}')
        [[ $here == "$there" ]] || cannot "the engine runs elsewhere: on $there, not $here"
        return 0
    fi
    own_engine=yes
    look_for_others
    probe_kernel
}

# Prints the engines that live in this network: two would fight for bridge and rules.
engines() {
    local entry pid network
    network=$(readlink /proc/self/ns/net)
    for entry in /proc/[0-9]*/comm; do
        pid=${entry//[^0-9]/}
        [[ $(cat "$entry" 2>/dev/null) == dockerd ]] || continue
        [[ $(readlink "/proc/$pid/ns/net" 2>/dev/null) != "$network" ]] || echo "$pid"
    done
    if [[ -s /run/docker.pid ]] && pid=$(</run/docker.pid) && [[ -d /proc/$pid ]]; then
        echo "$pid"
    fi
}

links() {
    sed -n 's/^ *\([^ :]*\):.*/\1/p' /proc/net/dev
}

look_for_others() {
    local pid
    read -r pid < <(engines) || true
    [[ -z $pid ]] || cannot "an engine lives, process $pid, and doesn't answer to: docker info"
    ! links | grep -x docker0 >/dev/null || cannot 'an engine has been here: there is an interface docker0 (a restart, or "ip link del docker0")'
    [[ ! -e $run ]] || cannot "another proof is under way, or was killed: $run is there"
}

# An engine that was just installed needs a moment.
wait_for_others() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        ! docker info >/dev/null 2>&1 || return 0
        [[ -n $(engines) ]] || return 0
        sleep 0.2
    done
}

# Sets `packages` to what is missing.
find_missing() {
    local entry wanted=(debootstrap:debootstrap curl:curl python3:python3 ss:iproute2)
    [[ -z $own_engine ]] || wanted+=(dockerd:docker.io ip:iproute2)
    packages=()
    for entry in "${wanted[@]}"; do
        command -v "${entry%%:*}" >/dev/null || packages+=("${entry#*:}")
    done
    if ! docker compose version >/dev/null 2>&1 && ! command -v docker-compose >/dev/null; then
        packages+=(docker-compose)
    fi
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    if ! apt-get update || ! apt-get install --yes --no-install-recommends "${packages[@]}"; then
        cannot "Debian packages can't be installed: ${packages[*]}"
    fi
    wait_for_others
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

# Prints what an engine makes besides, wherever its own folders are.
side_folders() {
    local entry
    for entry in /etc/docker /opt/containerd /run/docker /run/containerd /run/runc \
        /sys/fs/cgroup/docker /sys/fs/cgroup/*/docker; do
        [[ ! -d $entry ]] || echo "$entry"
    done
}

# Notes what is there before the engine, in the folder `run`. What isn't noted isn't put back.
note_system() {
    local entry
    mkdir "$run" || cannot "another proof is under way: $run is there"
    echo "$$" >"$run/owner"
    for entry in "${settings[@]}"; do
        [[ ! -e $entry ]] || echo "$entry $(<"$entry")"
    done >"$run/settings"
    [[ ! -e /etc/docker/key.json ]] || touch "$run/had_key"
    side_folders >"$run/folders"
    links >"$run/links"
    for entry in iptables ip6tables; do
        ! command -v "$entry-save" >/dev/null || "$entry-save" >"$run/$entry" || rm "$run/$entry"
    done
}

start_engine() {
    [[ -n $own_engine ]] || return 0
    # Whatever is begun is noted, before an interruption counts.
    local tries interrupted=
    trap 'interrupted=yes' INT TERM HUP
    look_for_others
    note_system
    mkdir "$work/engine"
    # Not the settings of another engine.
    echo '{}' >"$run/daemon.json"
    # Where forwarding is on already, the engine leaves the policy for others' packets alone.
    echo 1 >/proc/sys/net/ipv4/ip_forward
    setsid dockerd --config-file "$run/daemon.json" --data-root "$work/engine" --exec-root "$run/exec" \
        --pidfile "$run/docker.pid" --host "unix://$run/docker.sock" >"$run/log" 2>&1 &
    echo "$!" >"$run/engine"
    for ((tries = 0; tries < 150; tries++)); do
        sleep 0.2 || true
        [[ -z $interrupted ]] || exit 130
        ! "$docker" info >/dev/null 2>&1 || return 0
        [[ -n $(jobs -pr) ]] || break
    done
    tail -n 20 "$run/log"
    cannot 'an engine of its own does not come up here; its last words are above'
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

# Prints the processes that work for the engine that was started here, by its folder: the engine,
# containerd, and what looks after containers.
workers() {
    local entry
    for entry in /proc/[0-9]*/cmdline; do
        tr '\0' '\n' 2>/dev/null <"$entry" | grep -F "$run/" >/dev/null || continue
        entry=${entry//[^0-9]/}
        [[ $(cat "/proc/$entry/comm" 2>/dev/null) != @(dockerd|setsid|containerd*) ]] || echo "$entry"
    done 2>/dev/null
}

# Ends the process noted by start_engine, if it is that one still, and waits for all that it started.
end_engine() {
    local pid tries code=0
    pid=$(cat "$run/engine" 2>/dev/null) || return 0
    ! workers | grep -x "$pid" >/dev/null || kill -TERM "$pid" || true
    for ((tries = 0; tries < 200; tries++)); do
        [[ -n $(workers) ]] || return 0
        sleep 0.1
    done
    for pid in $(workers); do
        echo "process $pid of the engine didn't end: killed" >&2
        kill -KILL "$pid" || true
        code=1
    done
    sleep 0.5
    return "$code"
}

# Prints what is mounted in a folder, the innermost first.
mounted_below() {
    local point
    while read -r _ point _; do
        # Spaces are written as \040.
        printf -v point '%b' "$point"
        [[ $point/ != "$1"/* ]] || printf '%s\n' "$point"
    done </proc/self/mounts | sort -r
}

# Removes a folder that was made here, but nothing that is mounted below it.
remove_folder() {
    local point
    [[ -d $1 ]] || return 0
    while read -r point; do
        umount "$point" || true
    done < <(mounted_below "$1")
    read -r point < <(mounted_below "$1") || true
    [[ -z $point ]] || {
        echo "$1 stays: $point is mounted there" >&2
        return 1
    }
    rm -rf --one-file-system "$1"
}

# Puts back what note_system noted, in full, whatever of it fails.
stop_engine() {
    local code=0
    [[ -n $own_engine && $(cat "$run/owner" 2>/dev/null) == "$$" ]] || return 0
    end_engine || code=1
    if [[ -n $(engines) ]]; then
        echo 'another engine was started meanwhile: the network is left to it' >&2
        code=1
    else
        remove_links || code=1
        remove_rules iptables || code=1
        remove_rules ip6tables || code=1
        put_settings_back || code=1
        remove_side_folders || code=1
    fi
    remove_folder "$run" || code=1
    return "$code"
}

put_settings_back() {
    local entry value code=0
    [[ -e $run/settings ]] || return 0
    while read -r entry value; do
        [[ $(<"$entry") == "$value" ]] || echo "$value" >"$entry" || code=1
    done <"$run/settings"
    return "$code"
}

# The new ones, as far as they are empty.
remove_side_folders() {
    local entry
    [[ -e $run/folders ]] || return 0
    [[ -e $run/had_key ]] || rm -f /etc/docker/key.json
    while read -r entry; do
        find "$entry" -depth -type d -exec rmdir {} \; 2>/dev/null || true
        [[ ! -d $entry ]] || echo "$entry stays: it isn't empty" >&2
    done < <(side_folders | grep -vxFf "$run/folders")
}

remove_links() {
    local link code=0
    [[ -e $run/links ]] || return 0
    for link in $(links); do
        [[ $link =~ ^(docker0|br-[0-9a-f]{12})$ ]] || continue
        grep -qx "$link" "$run/links" || ip link del "$link" || code=1
    done
    return "$code"
}

# Prints the chains and rules of iptables-save, each with its table.
tabled() {
    awk '/^\*/ { table = substr($0, 2) }
        /^:/ { print table, "-N", substr($1, 2) }
        /^-A/ { print table, $0 }' | sort
}

# Takes away what the engine left: rules and chains that are new and name its bridges or chains. New
# rules of others stay.
remove_rules() {
    local command=$1 table new
    [[ -e $run/$command ]] || return 0
    new=$(comm -13 <(tabled <"$run/$command") <("$command-save" | tabled) |
        grep -E ' -N DOCKER|-A .*(DOCKER|docker0|br-[0-9a-f]{12})|-A POSTROUTING -s ([^ ]+) -d \2 .*-j MASQUERADE$') ||
        return 0
    while read -r table; do
        {
            echo "*$table"
            sed -n "s/^$table -A/-D/p" <<<"$new"
            sed -n "s/^$table -N/-X/p" <<<"$new"
            echo COMMIT
        } | "$command-restore" --noflush || return 1
    done < <(cut -d ' ' -f 1 <<<"$new" | sort -u)
}
