#!/usr/bin/env bash
# Proves the containers with a real engine: builds the images, brings all up, looks at it from the
# API and with a browser, kills one service after another, stops in order, takes all down.
#
#   e2e/containers/prove.sh [--from-source | --from-host FOLDER] [--work FOLDER]
#
# --from-source (default)  the images build the programs, as for users: takes some ten minutes
# --from-host FOLDER       the programs that lie in FOLDER are put into the same images, on this
#                          machine's release of Debian
# --work FOLDER            where to make a folder for its data, some gigabytes (.hopwatch/containers)
#
# It needs root, installs Debian packages that are missing, and makes base images. Where no engine
# answers, it starts one of its own, with all that belongs to it in the work folder and under
# /run/hopwatch-proof. An engine that lives is used or left alone, never stopped. At the end nothing is
# left but the packages, and an engine that Debian started with them. Exit codes: 0 proven, 1 not,
# 2 wrong usage, 77 it can't be had here, and why.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
here=$root/e2e/containers
place=$root/.hopwatch/containers
run=/run/hopwatch-proof
programs=
usage() {
    echo "prove.sh: $*" >&2
    exit 2
}
while [[ $# -gt 0 ]]; do
    case $1 in
        --from-host | --work) [[ -n ${2-} ]] || usage "$1 needs a folder" ;;&
        --from-source) programs= ;;
        --from-host)
            [[ -x $2/hopwatch && -x $2/hopwatch-ros ]] || usage "no hopwatch and hopwatch-ros in $2"
            programs=$(cd "$2" && pwd -P)
            shift
            ;;
        --work)
            place=$2
            shift
            ;;
        *) usage "unknown argument $1" ;;
    esac
    shift
done

# shellcheck source=e2e/containers/probe.sh
source "$here/probe.sh"
# shellcheck source=e2e/containers/engine.sh
source "$here/engine.sh"
# shellcheck source=e2e/containers/standins.sh
source "$here/standins.sh"

services=(collector ai-mock broadcaster gateway robot-sim web-ui)
# Not those of a pipeline that runs here already.
export COMPOSE_PROJECT_NAME=hopwatch-proof IMAGES=hopwatch-proof PAGE_PORT=13000 COLLECTOR_PORT=18002 \
    BROADCASTER_PORT=18001 AI_PORT=15000 ROBOTS_PORT=18003
# A message every 50 ms on both lanes: enough for figures within seconds.
export RATE=20 AI_MS=20 ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-0}
# Where the robot of the doctor's case publishes: on this host's own network.
APART_DOMAIN=93
export DOCKER_BUILDKIT=1 COMPOSE_DOCKER_CLI_BUILD=1 BUILDKIT_PROGRESS=plain

started=$SECONDS
times=()

say() {
    printf '[%4d s] %s\n' $((SECONDS - started)) "$*"
}

# Runs a step, notes its time, and shows its log where it fails. Until the engine is up it may find out
# that the proof can't be had.
# Usage: step NAME COMMAND…
step() {
    local name=$1 log=$work/log begun=${EPOCHREALTIME/[^0-9]/} code=0 tenths
    shift
    say "$name …"
    # Not in a condition: bash would go on after errors inside.
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    code=$?
    set -e
    if [[ $code -eq 77 && -z ${engine_ready-} ]]; then
        tail -n 25 "$log" | sed 's/^/    /'
        say "$name: can't be had here"
        exit 77
    fi
    if [[ $code -ne 0 ]]; then
        tail -n 60 "$log" | sed 's/^/    /'
        say "$name: FAILED"
        exit 1
    fi
    grep '^=' "$log" | sed 's/^= /    /' || true
    tenths=$(((${EPOCHREALTIME/[^0-9]/} - begun) / 100000))
    times+=("$(printf '%6d.%d s  %s' $((tenths / 10)) $((tenths % 10)) "$name")")
}

compose() {
    (cd "$root" && "${compose_command[@]}" "$@")
}

container() {
    compose ps -q "$1"
}

# Polls until a command succeeds, and says at the end what it last said.
# Usage: wait_for SECONDS WHAT COMMAND…
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2 last
    shift 2
    until last=$("$@" 2>&1); do
        if ((SECONDS >= deadline)); then
            echo "waited in vain for $what; last seen:"
            echo "$last"
            return 1
        fi
        sleep 0.2
    done
    [[ -z $last ]] || echo "$last"
}

is_healthy() {
    local state
    state=$("$docker" inspect -f '{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}' \
        "$(container "$1")")
    echo "$1: $state"
    [[ $state == 'running healthy' ]]
}

all_healthy() {
    local service
    for service in "${services[@]}"; do
        wait_for 90 "$service" is_healthy "$service"
    done
}

# Asks the collector as a program would that was given the token.
ask() {
    curl --silent --show-error --fail --max-time 10 \
        --header "authorization: Bearer $token" "http://127.0.0.1:$COLLECTOR_PORT$1"
}

# Usage: account_is_right MORE_THAN: both lanes have delivered more, and nothing is unaccounted.
account_is_right() {
    ask /v1/status | python3 "$here/account.py" status "$1"
}

build_images() {
    compose build
}

bring_up() {
    compose up -d
    all_healthy
}

look_at_images() {
    local image bytes mb
    for image in slim ros; do
        bytes=$("$docker" image inspect -f '{{.Size}}' "$IMAGES:$image")
        mb=$(((bytes + 500000) / 1000000))
        echo "= image $image: $mb MB"
        [[ $image != slim || $mb -lt 60 ]]
    done
}

look_at_hardening() {
    local service facts
    for service in "${services[@]}"; do
        facts=$("$docker" inspect -f '{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.HostConfig.CapDrop}} {{.HostConfig.RestartPolicy.Name}} {{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}' \
            "$(container "$service")")
        echo "$service: $facts"
        [[ $facts =~ ^true\ 10001:10001\ \[ALL\]\ unless-stopped\ [1-9][0-9]*\ [1-9][0-9]*$ ]]
    done
    echo "= read-only, not root, no capabilities, limits of memory and processors: all"
    # Nothing listens where others could reach it.
    local port open
    for port in "$PAGE_PORT" "$COLLECTOR_PORT" "$BROADCASTER_PORT" "$AI_PORT" "$ROBOTS_PORT"; do
        open=$(ss -Hltn "sport = :$port" | awk '{ print $4 }')
        echo "listening: $open"
        [[ $open == "127.0.0.1:$port" ]]
    done
    # Without the token nothing is told or set.
    local code
    code=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 10 \
        "http://127.0.0.1:$COLLECTOR_PORT/v1/status")
    [[ $code == 401 ]]
    code=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 10 -X PUT \
        --data '{}' "http://127.0.0.1:$AI_PORT/v1/settings")
    [[ $code == 401 ]]
    echo '= ports on 127.0.0.1 alone; without the token: 401'
}

look_at_figures() {
    wait_for 60 'messages on both lanes' account_is_right 100
    ask /metrics | python3 "$here/account.py" metrics
}

look_with_browser() {
    local screenshot=$work/page.png
    (cd "$root/e2e/browser" && node page.mjs --url "http://127.0.0.1:$PAGE_PORT/" --seconds 6 \
        --screenshot "$screenshot") | python3 "$here/account.py" page
}

restarts() {
    "$docker" inspect -f '{{.RestartCount}}' "$(container "$1")"
}

has_restarted() {
    local count
    count=$(restarts "$1")
    echo "$1: restarts $count"
    [[ $count -gt $2 ]]
}

# Whether a process is one of a container, for the kernel: the engine may say 0, or number processes
# of another machine.
belongs_to() {
    [[ $1 =~ ^[0-9]+$ && $1 -gt 1 && $2 =~ ^[0-9a-f]{64}$ ]] && grep -qF "$2" "/proc/$1/cgroup"
}

# `docker kill` is taken for a wish that it be stopped: nothing restarts after it. A crash is the end
# of its process.
kill_one() {
    local service=$1 before id pid delivered
    wait_for 90 "$service" is_healthy "$service"
    before=$(restarts "$service")
    delivered=$(ask /v1/status | python3 "$here/account.py" delivered)
    id=$(container "$service")
    pid=$("$docker" inspect -f '{{.State.Pid}}' "$id")
    belongs_to "$pid" "$id" || {
        echo "process $pid isn't one of the container $id here: it isn't killed"
        return 1
    }
    kill -KILL "$pid"
    wait_for 60 "$service to be back" has_restarted "$service" "$before" >/dev/null
    wait_for 60 "the account after $service was killed" account_is_right $((delivered + 20))
}

# And what a person's `docker kill` takes: `up` again.
kill_and_bring_up() {
    "$docker" kill "$(container gateway)"
    compose up -d
    all_healthy
    wait_for 60 'the account' account_is_right 100
}

stop_in_order() {
    local begun=$SECONDS service code
    compose stop
    echo "= stopped within $((SECONDS - begun)) s"
    for service in "${services[@]}"; do
        code=$("$docker" inspect -f '{{.State.ExitCode}}' "$(container_even_stopped "$service")")
        echo "$service ended with $code"
        [[ $code == 0 ]]
    done
    rm -rf "$work/runs"
    "$docker" cp "$(container_even_stopped collector):/data" "$work/runs"
    find "$work/runs" -type f
    python3 "$here/account.py" report "$work"/runs/*/report.json
    for file in report.md report.html traces.csv run.json; do
        [[ -s $(echo "$work"/runs/*/"$file") ]]
    done
}

container_even_stopped() {
    "$docker" ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
        --filter "label=com.docker.compose.service=$1"
}

# A robot's container as people start it, with the host's network and memory and as root, and the doctor
# as the gateway's user: what is wrong is said, with what to do. And as the robot's user nothing is.
look_as_another_user() {
    local beside=(--stop-signal SIGINT --network host --ipc host --read-only --tmpfs /tmp
        --env "ROS_DOMAIN_ID=$APART_DOMAIN" --env ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST)
    "$docker" run --detach --name "$COMPOSE_PROJECT_NAME-robot" --user 0:0 "${beside[@]}" "$IMAGES:ros" \
        hopwatch-robot-sim --lanes reliable --rate 20
    wait_for 60 'what the doctor says as another user' diagnosed another_user 10001:10001 \
        "${beside[@]}"
    wait_for 60 "what the doctor says as the robot's user" diagnosed same_user 0:0 "${beside[@]}"
    # DDS takes its shared memory away.
    "$docker" stop --time 10 "$COMPOSE_PROJECT_NAME-robot"
    "$docker" rm "$COMPOSE_PROJECT_NAME-robot"
}

# Usage: diagnosed WHAT USER OPTION…: what the doctor finds as that user is as it must be.
diagnosed() {
    local what=$1 user=$2 code=0
    shift 2
    "$docker" run --rm --user "$user" "$@" "$IMAGES:ros" \
        hopwatch doctor --json --topic /robot_messages --wait 8s >"$work/doctor.json" || code=$?
    [[ $code -le 1 ]] || return "$code"
    python3 "$here/account.py" "$what" <"$work/doctor.json"
}

lose_packets() {
    local overlay=(-f docker-compose.yml -f containers/loss.yml)
    export LOSS=0.1
    compose "${overlay[@]}" build loss
    compose "${overlay[@]}" up -d
    all_healthy
    wait_for 60 'losses' account_is_lossy
    compose "${overlay[@]}" stop
}

account_is_lossy() {
    ask /v1/status | python3 "$here/account.py" lossy
}

take_down() {
    local left
    "$docker" rm --force "$COMPOSE_PROJECT_NAME-robot" 2>/dev/null || true
    compose -f docker-compose.yml -f containers/loss.yml down --volumes --remove-orphans
    left=$("$docker" ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME"
        "$docker" volume ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME"
        "$docker" network ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME")
    [[ -z $left ]] || {
        echo "left: $left"
        return 1
    }
}

read_token() {
    compose exec -T collector hopwatch token --show /run/hopwatch/token
}

clean_up() {
    local code=$?
    trap - EXIT
    trap '' INT TERM HUP
    if [[ -n ${engine_ready-} ]]; then
        if [[ $code -ne 0 ]]; then
            compose ps || true
            compose logs --no-color --tail 30 || true
        fi
        take_down >/dev/null 2>&1 || true
        remove_images >/dev/null 2>&1 || true
    fi
    stop_engine || code=1
    remove_folder "$work" || code=1
    [[ -z $made_place ]] || rmdir --ignore-fail-on-non-empty "$place"
    exit "$code"
}

choose_engine
choose_release
made_place=
[[ -d $place ]] || made_place=yes
mkdir -p "$place"
place=$(cd "$place" && pwd -P)
work=$(mktemp -d "$place/proof.XXXXXX")
chmod 755 "$work"
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
probe_folder
find_mirror
find_missing
if [[ -n $programs ]]; then
    say "The images get the programs that are built on this machine already, in $programs."
else
    say 'The images build the programs from source.'
fi
if [[ ${#packages[@]} -gt 0 ]]; then
    step 'Debian packages' install_packages
    hash -r
    choose_engine
fi
find_commands
step "Debian $release from $mirror" make_tree
step 'engine' start_engine
engine_ready=yes
say "$("$docker" version --format 'engine {{.Server.Version}}, client {{.Client.Version}}'), ${compose_command[*]} $("${compose_command[@]}" version --short)"
step 'base image, Debian' make_base
step 'base images, the rest' make_standins
step 'images of Hopwatch' build_images
step 'image sizes' look_at_images
# First of all: without /etc/machine-id Fast DDS tells hosts apart by their addresses, and the others'
# network comes and goes with some.
step 'a robot as root with --net host --ipc host, and the doctor as another user' look_as_another_user
step 'up, until all are healthy' bring_up
token=$(read_token)
step 'figures of the API' look_at_figures
step 'limits and locks' look_at_hardening
if [[ -n $browser ]]; then
    step 'the page in Chromium' look_with_browser
else
    say 'the page in Chromium: skipped: needs Chromium and e2e/browser/node_modules (./hopwatch test browser)'
fi
for service in "${services[@]}"; do
    step "$service killed, until all is well" kill_one "$service"
done
step 'all healthy again' all_healthy
step 'docker kill of the gateway, and up again' kill_and_bring_up
step 'stop, and the report' stop_in_order
step 'up for the second time' bring_up
step 'up with loss, until RELIABLE has what BEST_EFFORT lost' lose_packets
step 'down' take_down
echo
printf '%s\n' "${times[@]}"
say 'proven'
