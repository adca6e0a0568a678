#!/usr/bin/env bash
# Puts programs into a tree that becomes an image: `gather.sh slim|ros TREE PROGRAMS [MESSAGES]`.
#
# `slim`: hopwatch, its names, and of the system that they were built on the C library, certificates
# and two words on users and names. `ros`: gateway, robots and the lab's
# probes, as hopwatch-ros with its names, and the messages in MESSAGES.
set -euo pipefail
kind=$1 tree=$2 programs=$3 messages=${4-}

put() {
    install -D -m 755 "$programs/$1" "$tree/usr/bin/$1"
    strip "$tree/usr/bin/$1"
}

gather_slim() {
    local library
    put hopwatch
    for name in ai-mock broadcaster collector web-ui; do
        ln -s hopwatch "$tree/usr/bin/hopwatch-$name"
    done
    # The loader and what it loads, at the places that the program names them by.
    ldd "$tree/usr/bin/hopwatch" | grep -o '/[^ ]*' | while read -r library; do
        install -D -m 755 "$(readlink -f "$library")" "$tree$library"
    done
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
    echo 'hopwatch:x:10001:10001::/:/usr/bin/hopwatch' >"$tree/etc/passwd"
    echo 'hopwatch:x:10001:' >"$tree/etc/group"
    echo 'hosts: files dns' >"$tree/etc/nsswitch.conf"
    mkdir -p "$tree/empty"
    mkdir -m 1777 "$tree/tmp"
}

gather_ros() {
    put hopwatch-ros
    for name in gateway robot-sim lab-probe; do
        ln -s hopwatch-ros "$tree/usr/bin/hopwatch-$name"
    done
    mkdir -p "$tree/opt/hopwatch/msgs"
    cp -r "$messages/." "$tree/opt/hopwatch/msgs"
}

mkdir -p "$tree"
case $kind in
    slim) gather_slim ;;
    ros) gather_ros ;;
    *)
        echo "gather.sh: slim or ros, not $kind" >&2
        exit 2
        ;;
esac
