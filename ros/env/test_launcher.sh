#!/usr/bin/env bash
# Tests of the launcher, in a copy of it with a small false repository, on a search
# path of false tools that note their calls. Needs no network and takes seconds.
set -euo pipefail
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the launcher needs of a bare system.
basics=(bash cat chmod cmp cp cut date dirname env find flock grep ldconfig ln ls mkdir mktemp mv readlink rm sed
    sha256sum sleep sort stty tail tee touch tr uname wc xargs)

# Writes a false tool. Usage: false_tool NAME <<<SCRIPT
false_tool() {
    {
        printf '#!/usr/bin/env bash\nset -e\necho "%s $*" >>%q\n' "$1" "$calls"
        cat
    } >"$tools/$1"
    chmod +x "$tools/$1"
}

# Makes a fresh false repository and its tools, with a sourced ROS 2.
make_world() {
    local tool
    world=$work/$1
    clone=$world/a\ clone/hop\ watch
    tools=$world/tools
    bare=$world/bare
    calls=$world/calls
    mkdir -p "$clone/ros" "$clone/web-ui/src" "$clone/crates/model/src" "$tools" "$bare"
    cp "$source_root/hopwatch" "$clone/"
    cp -r "$source_root"/ros/{env,hopwatch_msgs,hopwatch_lab_msgs} "$clone/ros/"
    printf '[workspace.package]\nrust-version = "1.90"\n' >"$clone/Cargo.toml"
    printf '// one\n' >"$clone/crates/model/src/lib.rs"
    printf '{}\n' | tee "$clone/web-ui/package.json" >"$clone/web-ui/package-lock.json"
    printf '// one\n' >"$clone/web-ui/src/main.ts"
    : >"$calls"
    for tool in "${basics[@]}"; do
        ln -s "$(PATH=$PATH:/sbin command -v "$tool")" "$bare/$tool"
    done
    false_tool cc <<<'echo /include'
    false_tool node <<<'echo v20.1.0'
    false_tool python3 <<<'exit 0'
    false_tool npm <<'TOOL'
case $1 in
    ci) rm -rf node_modules && mkdir node_modules ;;
    run) mkdir -p dist && date +%N >dist/index.html ;;
esac
TOOL
    false_tool cmake <<'TOOL'
case $1 in
    -S)
        mkdir -p "$4"
        for argument; do
            if [[ $argument == -DCMAKE_INSTALL_PREFIX=* ]]; then
                echo "${argument#*=}" >"$4/prefix"
            fi
        done
        ;;
    --install) mkdir -p "$(cat "$2/prefix")/lib/python3.12/site-packages" ;;
esac
TOOL
    false_tool cargo <<'TOOL'
case $1 in
    --version) echo "cargo 1.95.0" ;;
    build)
        if [[ -e broken ]]; then
            echo "error: this does not compile" >&2
            exit 101
        fi
        if [[ -e slow ]]; then
            sleep 600 &
            echo $! >sleeping
            wait
        fi
        sleep 0.3
        mkdir -p "${CARGO_TARGET_DIR:-target}/release"
        printf '#!/usr/bin/env bash\necho "program $* in $ROS_AUTOMATIC_DISCOVERY_RANGE"\n' \
            >"${CARGO_TARGET_DIR:-target}/release/hopwatch"
        chmod +x "${CARGO_TARGET_DIR:-target}/release/hopwatch"
        : >"${CARGO_TARGET_DIR:-target}/release/hopwatch-ros"
        ;;
    fmt) [[ ! -e unformatted ]] ;;
esac
TOOL
    ros=$world/a\ ros
    mkdir -p "$ros/share/rcl"
    environment=(-i "HOME=$HOME" "PATH=$tools:$bare" "AMENT_PREFIX_PATH=$ros" ROS_DISTRO=jazzy LIBCLANG_PATH=/clang)
}

# Starts the launcher in the false world: sets `code`, `out` and `err`.
launch() {
    code=0
    env "${environment[@]}" "$clone/hopwatch" "$@" >"$world/out" 2>"$world/err" </dev/null || code=$?
    out=$(<"$world/out")
    err=$(<"$world/err")
}

fail() {
    printf 'FAILED: %s\n--- exit code %s\n--- standard output\n%s\n--- standard error\n%s\n--- calls\n%s\n' \
        "$*" "${code-}" "${out-}" "${err-}" "$(<"$calls")"
    exit 1
}

expect_code() {
    [[ $code -eq $1 ]] || fail "exit code $1 expected"
}

expect_in() {
    [[ $2 == *"$1"* ]] || fail "expected: $1"
}

expect_not_in() {
    [[ $2 != *"$1"* ]] || fail "not expected: $1"
}

# The building calls since the last look, a word each.
built() {
    sed -n 's/^cmake --build.*/messages/p; s/^npm ci.*/packages/p; s/^npm run build.*/page/p; s/^cargo build.*/programs/p; s/^python3 -m venv.*/wheels/p' "$calls" |
        uniq | tr '\n' ' '
    : >"$calls"
}

expect_built() {
    local found
    found=$(built)
    [[ $found == "${1:+$1 }" ]] || fail "built '$found', expected '$1'"
}

test_missing_tools_are_all_named() {
    environment=(-i "HOME=$HOME" "PATH=$bare")
    launch up
    expect_code 2
    expect_in 'Rust 1.90 or later (cargo)' "$err"
    expect_in 'C compiler (cc)' "$err"
    expect_in 'Node.js 20 or later' "$err"
    expect_in 'npm:' "$err"
    expect_in 'Python 3.10 to 3.13' "$err"
    [[ -z $out ]] || fail 'nothing expected on standard output'
}

test_an_old_tool_counts_as_missing() {
    false_tool node <<<'echo v18.19.0'
    false_tool cargo <<<'echo "cargo 1.63.0"'
    launch up
    expect_code 2
    expect_in 'Node.js 20 or later' "$err"
    expect_in 'Rust 1.90 or later' "$err"
    expect_not_in 'npm:' "$err"
}

test_first_start_prepares_and_becomes_the_program() {
    launch report 'a folder'
    expect_code 0
    expect_built 'messages packages page programs'
    expect_in 'program report a folder in LOCALHOST' "$out"
    [[ $out != *$'\n'* ]] || fail 'one line expected on standard output'
    expect_in 'web page: done in' "$err"
    [[ -s $clone/.hopwatch/env.sh ]] || fail 'env.sh expected'
}

test_second_start_builds_nothing() {
    launch doctor
    built >/dev/null
    launch doctor
    expect_code 0
    [[ -z $err ]] || fail 'no step expected'
    [[ $(<"$calls") != *cargo* && $(<"$calls") != *npm* ]] || fail 'no call of cargo or npm expected'
    expect_built ''
}

test_a_change_builds_what_depends_on_it() {
    launch doctor
    built >/dev/null
    printf '// two\n' >"$clone/crates/model/src/new.rs"
    launch doctor
    expect_built 'programs'
    rm "$clone/crates/model/src/new.rs"
    launch doctor
    expect_built 'programs'
    printf '// three\n' >"$clone/web-ui/src/main.ts"
    launch doctor
    expect_built 'page programs'
    printf '{"a": 1}\n' >"$clone/web-ui/package-lock.json"
    launch doctor
    expect_built 'packages page programs'
    printf 'bool more\n' >>"$clone/ros/hopwatch_msgs/msg/Census.msg"
    launch doctor
    expect_built 'messages programs'
    rm "$clone/.hopwatch/msgs/hopwatch.stamp"
    launch doctor
    expect_built 'messages'
    launch doctor
    expect_built ''
}

test_a_moved_clone_is_prepared_anew() {
    launch doctor
    built >/dev/null
    mv "$clone" "$world/moved"
    clone=$world/moved
    launch doctor
    expect_code 0
    expect_built 'messages programs'
    expect_in "$clone/.hopwatch/msgs" "$(<"$clone/.hopwatch/env.sh")"
    expect_not_in 'hop watch' "$(<"$clone/.hopwatch/env.sh")"
}

test_a_failed_step_shows_its_log_and_is_tried_again() {
    touch "$clone/broken"
    launch up
    expect_code 2
    expect_in 'programs: FAILED' "$err"
    expect_in 'error: this does not compile' "$err"
    expect_in "$clone/.hopwatch/logs/programs.log" "$err"
    [[ -z $out ]] || fail 'nothing expected on standard output'
    rm "$clone/broken"
    built >/dev/null
    launch up
    expect_code 0
    expect_built 'programs'
}

test_without_ros_the_wheels_are_installed() {
    environment=(-i "HOME=$HOME" "PATH=$tools:$bare")
    touch "$clone/no-network"
    false_tool python3 <<TOOL
case "\$1 \$2" in
    '-m venv')
        mkdir -p "\$3/bin" "\$3/lib/python3.12/site-packages/ros_rcl.libs"
        cp "$tools/python3" "\$3/bin/python"
        ;;
    '-m pip') [[ ! -e "$clone/no-network" ]] ;;
esac
TOOL
    launch up
    expect_code 2
    expect_in 'ROS 2 from wheels: FAILED' "$err"
    expect_built 'wheels'
    rm "$clone/no-network"
    launch up
    expect_code 0
    expect_built 'wheels messages packages page programs'
    expect_in 'ros_rcl.libs' "$(<"$clone/.hopwatch/env.sh")"
    launch up
    expect_built ''
    # An environment of ours that is sourced already is not taken for a ROS 2.
    environment+=("AMENT_PREFIX_PATH=$clone/.hopwatch/msgs:$clone/.hopwatch/ros")
    mkdir -p "$clone/.hopwatch/ros/share/rcl"
    launch up
    expect_built ''
}

test_the_target_folder_and_discovery_range_of_the_user_are_kept() {
    environment+=("CARGO_TARGET_DIR=$clone/else where" ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET)
    launch up
    expect_code 0
    expect_in 'program up in SUBNET' "$out"
    [[ -x $clone/else\ where/release/hopwatch ]] || fail 'the program belongs into CARGO_TARGET_DIR'
    built >/dev/null
    launch up
    expect_built ''
}

test_an_interrupted_start_leaves_no_process() {
    local launcher sleeping tries
    touch "$clone/slow"
    # With job control, as from a terminal: background jobs ignore SIGINT otherwise.
    set -m
    env "${environment[@]}" "$clone/hopwatch" up >"$world/out" 2>"$world/err" </dev/null &
    launcher=$!
    set +m
    for ((tries = 0; tries < 300; tries++)); do
        [[ ! -s $clone/sleeping ]] || break
        sleep 0.1
    done
    sleeping=$(<"$clone/sleeping") || fail 'the build never began'
    kill -INT "$launcher"
    code=0
    wait "$launcher" || code=$?
    err=$(<"$world/err")
    expect_code 130
    expect_in 'Interrupted' "$err"
    if kill "$sleeping" 2>/dev/null; then
        fail "process $sleeping was left"
    fi
    [[ ! -e $clone/.hopwatch/programs.stamp ]] || fail 'the build must not count as done'
}

test_test_sections_are_counted() {
    launch test fmt
    expect_code 0
    [[ ${out##*$'\n'} == 'sections: 1 passed, 0 failed' ]] || fail 'closing line expected'
    touch "$clone/unformatted"
    launch test fmt setup
    expect_code 1
    expect_in 'fmt: FAILED' "$out"
    [[ ${out##*$'\n'} == 'sections: 1 passed, 1 failed' ]] || fail 'closing line expected'
    launch test --fail-fast fmt setup
    [[ ${out##*$'\n'} == 'sections: 0 passed, 1 failed' ]] || fail 'closing line expected'
    launch test nonsense
    expect_code 2
    expect_in 'Sections: setup fmt' "$err"
}

test_two_starts_at_once_build_once() {
    local other
    launch doctor
    built >/dev/null
    printf '// two\n' >"$clone/crates/model/src/lib.rs"
    env "${environment[@]}" "$clone/hopwatch" up >"$world/out2" 2>"$world/err2" </dev/null &
    other=$!
    launch up
    expect_code 0
    wait "$other" || fail 'the other start failed'
    expect_in 'program up' "$(<"$world/out2")"
    expect_built 'programs'
}

test_an_interrupted_section_leaves_no_process() {
    local launcher sleeping tries
    touch "$clone/slow"
    set -m
    env "${environment[@]}" "$clone/hopwatch" test tests >"$world/out" 2>"$world/err" </dev/null &
    launcher=$!
    set +m
    for ((tries = 0; tries < 300; tries++)); do
        [[ ! -s $clone/sleeping ]] || break
        sleep 0.1
    done
    sleeping=$(<"$clone/sleeping") || fail 'the build never began'
    kill -INT "$launcher"
    code=0
    wait "$launcher" || code=$?
    expect_code 130
    if kill "$sleeping" 2>/dev/null; then
        fail "process $sleeping was left"
    fi
}

passed=0
failed=0
for name in $(compgen -A function test_); do
    # Not in a condition, so that `set -e` holds inside.
    set +e
    (
        set -e
        make_world "$name"
        "$name"
    )
    outcome=$?
    set -e
    if [[ $outcome -eq 0 ]]; then
        passed=$((passed + 1))
        printf 'ok      %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'FAILED  %s\n' "$name"
    fi
done
printf 'launcher: %d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
