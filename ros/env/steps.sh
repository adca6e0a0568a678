# shellcheck shell=bash
# Steps of the launcher: run with a log, shown with their time, ended with all their
# children when the launcher is.
#
# Expects `state`, the folder that logs go to, and `set -e`.
#
# A step is never called in a condition (`if step …`, `step … || …`): bash then goes
# on after errors inside it.
# shellcheck disable=SC2154 # state comes from outside

logs=$state/logs
job=

say() {
    printf '%s\n' "$*" >&2
}

now_us() {
    printf '%s' "${EPOCHREALTIME/[^0-9]/}"
}

# Prints the seconds since a time from now_us, with one decimal.
since() {
    local tenths=$((($(now_us) - $1) / 100000))
    printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# Ends the running job with all its processes. It is asked first, since programs like
# test runners have children in groups of their own to end.
stop_job() {
    local tries
    [[ -n $job ]] || return 0
    kill -TERM -- "-$job" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 -- "-$job" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL -- "-$job" 2>/dev/null || true
    job=
}

on_signal() {
    trap '' INT TERM HUP
    stop_job
    [[ -t 2 ]] && printf '\r\e[K' >&2
    [[ ${BASH_SUBSHELL} -gt 0 ]] || say 'Interrupted.'
    exit "$1"
}

trap_signals() {
    trap 'on_signal 130' INT
    trap 'on_signal 143' TERM
    trap 'on_signal 129' HUP
}

# Starts a command as `job`, in a process group of its own and without input. A job
# can have jobs of its own: it passes the signal on to them.
start_job() {
    set -m
    (
        job=
        trap_signals
        close_lock
        "$@"
    ) </dev/null &
    job=$!
    set +m
}

# Shows the newest line of a log beside a step's name and time, on one line.
# Usage: show_tick NAME START LOG WIDTH
show_tick() {
    local text
    shopt -s extglob
    text=$(tail -c 600 "$3" | tr -d '\0')
    text=${text//$'\r'/$'\n'}
    text=${text//$'\e['*([0-9;?])[A-Za-z]/}
    text=${text%%*([[:space:]])}
    text=${text##*$'\n'}
    text="$1 … $(since "$2") s  ${text//[^[:print:]]/}"
    printf '\r\e[K%s' "${text:0:$4-1}" >&2
}

# Prints the terminal's width in columns.
terminal_width() {
    local size
    size=$(stty size <&2 2>/dev/null || true)
    size=${size#* }
    printf '%d' "$((${size:-0} > 0 ? size : 80))"
}

# Shows a log; of a long one its begin, where npm says what is wrong, and its end,
# where all others do.
show_log() {
    if [[ $(wc -l <"$1") -le 45 ]]; then
        sed 's/^/    /' "$1" >&2
    else
        sed -n '1,8s/^/    /p' "$1" >&2
        say '    […]'
        tail -n 35 "$1" | sed 's/^/    /' >&2
    fi
}

# Usage: step NAME COMMAND [ARGUMENT…]
# Runs a step and ends the launcher with the log shown if it fails.
step() {
    local name=$1 log started code=0 shown width=
    shift
    log=$logs/${name//[^A-Za-z0-9]/-}.log
    mkdir -p "$logs"
    : >"$log"
    started=$(now_us)
    shown=$SECONDS
    start_job "$@" >"$log" 2>&1
    if [[ -t 2 ]]; then
        width=$(terminal_width)
    else
        say "$name …"
    fi
    while kill -0 "$job" 2>/dev/null; do
        if [[ -n $width ]]; then
            show_tick "$name" "$started" "$log" "$width"
        elif ((SECONDS - shown >= 60)); then
            shown=$SECONDS
            say "$name … $(since "$started") s"
        fi
        sleep 0.1
    done
    wait "$job" || code=$?
    job=
    [[ -t 2 ]] && printf '\r\e[K' >&2
    if [[ $code -eq 0 ]]; then
        say "$name: done in $(since "$started") s"
        return
    fi
    say "$name: FAILED after $(since "$started") s (exit code $code). Its log, $log:"
    show_log "$log"
    exit 2
}

# Only one launcher at a time takes a step that prepares a clone; another waits.
take_lock() {
    mkdir -p "$state"
    command -v flock >/dev/null || return 0
    exec {lock_fd}>"$state/lock"
    if ! flock --nonblock "$lock_fd"; then
        say 'Waiting for another launcher that is preparing this clone …'
        flock "$lock_fd"
    fi
}

close_lock() {
    [[ -n ${lock_fd-} ]] || return 0
    exec {lock_fd}>&-
    lock_fd=
}
