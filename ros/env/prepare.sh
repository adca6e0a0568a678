#!/usr/bin/env bash
# Prepares the ROS 2 environment alone, without programs and web page, and writes
# .hopwatch/env.sh. What is ready already is left as it is.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=ros/env/ros-env.sh
source "$root/ros/env/ros-env.sh"

# Not `wheels_ready || prepare_wheels`: bash would go on after errors in there.
if ! wheels_ready; then
    prepare_wheels
fi
if ! msgs_ready; then
    prepare_msgs
fi
write_env
echo "The ROS 2 environment is ready: source $state/env.sh"
