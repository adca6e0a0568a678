#!/bin/bash
# Loses a share of the UDP packets that leave this network namespace, until it is stopped:
# `lose SHARE`, 0 to 1. Loopback isn't touched: DNS of containers goes there.
set -eu
share=$1
lose() {
    iptables "$1" OUTPUT ! -o lo -p udp -m statistic --mode random --probability "$share" -j DROP
}
lose -A
echo "loses $share of UDP packets"
trap 'lose -D; exit 0' INT TERM
while :; do
    sleep 3600 &
    wait $!
done
