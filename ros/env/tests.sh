# shellcheck shell=bash
# `./hopwatch test`: every test of the repository, in sections. A section is a
# function section_NAME; it runs in a shell of its own with `set -e` on, and skips
# itself with `skip REASON`.
#
# Expects `root`, ros-env.sh, steps.sh, build.sh and `set -e`.
# shellcheck disable=SC2154,SC2164 # these come from outside; `set -e` sees to failing cd

sections=(setup fmt clippy docs tests doctests e2e web browser python cpp launcher containers)

# A command and the Debian package that has it, for what the tests need beyond the
# tools of a build.
test_tools=(
    python3:python3
    cc:build-essential
    node:nodejs
    npm:npm
    chromium:chromium
    ip:iproute2
    iptables:iptables
    shellcheck:shellcheck
)

skipped_code=77

skip() {
    echo "skipped: $*"
    exit "$skipped_code"
}

# Installs the missing Debian packages, or names them where that can't be done.
install_packages() {
    local entry packages=()
    for entry in "${test_tools[@]}"; do
        command -v "${entry%%:*}" >/dev/null || packages+=("${entry#*:}")
    done
    # Debian has the part of Python that makes virtual environments in a package of its own.
    if ! ros_is_sourced && ! python3 -c 'import ensurepip' 2>/dev/null; then
        packages+=(python3-venv)
    fi
    if [[ ${#packages[@]} -eq 0 ]]; then
        return
    fi
    if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
        say "Some tests need these Debian packages: ${packages[*]}"
        return
    fi
    step 'Debian packages' apt_install "${packages[@]}"
    hash -r
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    apt-get install --yes --no-install-recommends "$@"
}

section_setup() {
    install_packages
    ensure_all
}

section_fmt() {
    cargo fmt --all --check
}

section_clippy() {
    enter_prepared
    cargo clippy --profile checks --workspace --all-targets --locked -- -D warnings
}

section_docs() {
    enter_prepared
    RUSTDOCFLAGS='-D warnings' cargo doc --profile checks --workspace --no-deps --locked
}

# Some tests need network and mount namespaces and clocks of their own, which only root has and not
# everywhere. Where they can be had such a test must not skip itself; elsewhere it is said that it
# does.
require_namespaces() {
    if namespaces_can_be_had; then
        echo 'namespaces: required'
        export HOPWATCH_REQUIRE_NAMESPACES=1
    else
        echo "namespaces: not available: $1 will skip"
    fi
}

namespaces_can_be_had() {
    local command name=hopwatch-probe-$$ code=0
    [[ $EUID -eq 0 ]] || return 1
    for command in ip iptables unshare; do
        command -v "$command" >/dev/null || return 1
    done
    ip netns add "$name" 2>/dev/null || return 1
    {
        ip netns exec "$name" iptables -A OUTPUT -p udp -m statistic --mode random \
            --probability 0.5 -j DROP &&
            ip netns exec "$name" iptables -t mangle -A PREROUTING -m statistic --mode random \
                --probability 0.5 -j DROP &&
            unshare --time true &&
            unshare --mount --propagation private mount -t tmpfs tmpfs /dev/shm
    } 2>/dev/null || code=1
    ip netns del "$name" || code=1
    return "$code"
}

section_tests() {
    ensure_all
    enter_env
    require_namespaces '1 test'
    if command -v cargo-nextest >/dev/null; then
        cargo nextest run --cargo-profile checks --workspace --locked --no-fail-fast \
            -E 'not package(hopwatch-e2e)'
    else
        cargo test --profile checks --workspace --exclude hopwatch-e2e --locked \
            --lib --bins --tests
    fi
}

# The whole from outside, on the programs as users have them.
section_e2e() {
    ensure_all
    ensure 'browser test packages' npm_packages_ready install_npm_packages "$root/e2e/browser"
    enter_env
    require_namespaces '5 tests'
    export HOPWATCH_PROGRAMS=$target/release
    if command -v cargo-nextest >/dev/null; then
        # Of the whole workspace, so that nothing is built once more with other features.
        cargo nextest run --cargo-profile checks --workspace --locked --no-fail-fast -E 'package(hopwatch-e2e)'
    else
        cargo build --profile checks -p hopwatch-example-axum --examples --locked
        cargo test --profile checks -p hopwatch-e2e --locked --tests -- --test-threads 1
    fi
}

section_doctests() {
    enter_prepared
    cargo test --doc --profile checks --workspace --locked
}

section_web() {
    local built
    ensure 'web packages' npm_packages_ready install_npm_packages "$root/web-ui"
    ensure_web
    cd web-ui
    built=$(stat -c %y dist/index.html)
    npm run check
    # The page is a part of a program: a newer one would have the programs built once more, which takes
    # minutes.
    [[ $(stat -c %y dist/index.html) == "$built" ]]
}

section_browser() {
    local browser
    browser=$(command -v chromium || true)
    [[ -n $browser ]] || skip 'needs Chromium (apt-get install chromium)'
    ensure_all
    ensure 'browser test packages' npm_packages_ready install_npm_packages "$root/e2e/browser"
    enter_env
    cd e2e/browser
    CHROMIUM=${CHROMIUM:-$browser} npm test
    cd ../../bench/live-page
    npm run check
    npm test
}

section_python() {
    local python
    python=$(find_python)
    # Compiled in memory: nothing is left in the source folders.
    find ros lab bench tests e2e examples -name node_modules -prune -o -name '*.py' -print0 |
        xargs -0 "$python" -c 'import sys, pathlib
for name in sys.argv[1:]:
    compile(pathlib.Path(name).read_bytes(), name, "exec")
print(len(sys.argv) - 1, "Python files compile")'
    PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest discover bench/python-stack
    PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest discover examples/ai-services
}

# The C++ nodes of the lab, where there is an rclcpp: built, and each run by its study.
section_cpp() {
    local build=$target/cpp out code=0
    ensure_all
    enter_env
    has_package rclcpp "$AMENT_PREFIX_PATH" || skip 'there is no rclcpp in this ROS'
    if command -v colcon >/dev/null; then
        colcon --log-base "$build/log" build --base-paths lab/cpp --build-base "$build/build" \
            --install-base "$build/install" --merge-install
    else
        cmake -S lab/cpp -B "$build/build" -DCMAKE_INSTALL_PREFIX="$build/install"
        cmake --build "$build/build"
        cmake --install "$build/build"
    fi
    export AMENT_PREFIX_PATH=$build/install:$AMENT_PREFIX_PATH
    out=$(mktemp -d)
    # One round decides nothing: 3.
    "$target/release/hopwatch" lab executor --only cpp --threads 2 --rounds 1 --for 2s --heavy 100000 \
        --out "$out/executor" || code=$?
    grep -q '"heavy_ns":\[[0-9]' "$out/executor/study.json"
    [[ $code -eq 0 || $code -eq 3 ]]
    code=0
    "$target/release/hopwatch" lab handover --only cpp --consumers 1,2 --rounds 1 --messages 10 \
        --out "$out/handover" || code=$?
    grep -q '"latency_ns":\[[0-9]' "$out/handover/study.json"
    grep -q '"wrong": \[\]' "$out/handover/report.json"
    rm -r "$out"
    [[ $code -eq 0 || $code -eq 3 ]]
}

section_launcher() {
    if command -v shellcheck >/dev/null; then
        shellcheck -x hopwatch ros/env/prepare.sh ros/env/lock.sh ros/env/test_launcher.sh \
            containers/*.sh e2e/containers/prove.sh
    fi
    bash ros/env/test_launcher.sh
}

# The images get the programs that are built here; `e2e/containers/prove.sh` alone builds them anew.
section_containers() {
    local code=0
    ! ros_is_sourced || skip 'the stand-in for the ROS image is made of the ROS wheels, and a ROS is sourced'
    ensure_all
    ensure 'browser test packages' npm_packages_ready install_npm_packages "$root/e2e/browser"
    bash e2e/containers/prove.sh --from-host "$target/release" || code=$?
    [[ $code -ne 77 ]] || skip 'see above'
    return "$code"
}

# For sections that compile: the generated types and the page must be there.
enter_prepared() {
    ensure_ros
    ensure_web
    enter_env
}

# Runs one section with its output shown and logged, and counts it.
run_section() {
    local name=$1 started code=0 outcome
    started=$(now_us)
    printf '\n== %s\n' "$name"
    start_job section_job "$name"
    wait "$job" || code=$?
    job=
    case $code in
        0)
            outcome=passed
            passed+=("$name")
            ;;
        "$skipped_code")
            outcome=skipped
            skipped+=("$name")
            ;;
        *)
            outcome="FAILED (exit code $code)"
            failed+=("$name")
            ;;
    esac
    summary+=("$(printf '%-10s %8s s  %s' "$name" "$(since "$started")" "$outcome")")
    printf -- '-- %s: %s in %s s\n' "$name" "$outcome" "$(since "$started")"
}

section_job() {
    cd "$root"
    mkdir -p "$logs"
    # Set-up shows and logs its own steps.
    if [[ $1 == setup ]]; then
        section_setup
        return
    fi
    {
        trap_signals
        "section_$1"
    } 2>&1 | {
        # It ends with what it reads from, so that the last words of an interrupted
        # section are kept.
        trap '' INT TERM HUP
        tee "$logs/test-$1.log"
    }
}

run_tests() {
    local chosen=() name fail_fast='' started
    local passed=() failed=() skipped=() summary=()
    for name in "$@"; do
        if [[ $name == --fail-fast ]]; then
            fail_fast=yes
        elif [[ " ${sections[*]} " == *" $name "* ]]; then
            chosen+=("$name")
        else
            say "There is no test section $name. Sections: ${sections[*]}"
            exit 2
        fi
    done
    [[ ${#chosen[@]} -gt 0 ]] || chosen=("${sections[@]}")
    # Incremental builds only cost time and space where nothing is built twice.
    [[ -z ${CI-} ]] || export CARGO_INCREMENTAL=0
    started=$(now_us)
    for name in "${chosen[@]}"; do
        run_section "$name"
        if [[ -n $fail_fast && ${#failed[@]} -gt 0 ]]; then
            break
        fi
    done
    printf '\n== summary after %s s\n' "$(since "$started")"
    printf '%s\n' "${summary[@]}"
    [[ ${#failed[@]} -eq 0 ]] || printf 'The logs are in %s\n' "$logs"
    printf 'sections: %d passed, %d failed' ${#passed[@]} ${#failed[@]}
    [[ ${#skipped[@]} -eq 0 ]] || printf ', %d skipped' ${#skipped[@]}
    printf '\n'
    [[ ${#failed[@]} -eq 0 ]] || exit 1
}
