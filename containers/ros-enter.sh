#!/bin/bash
# Runs a command with ROS 2 and hopwatch_msgs, in the images: `enter COMMAND…`
set -e
# shellcheck disable=SC1090 # of the image
source "/opt/ros/$ROS_DISTRO/setup.bash"
messages=/opt/hopwatch/msgs
export AMENT_PREFIX_PATH=$messages${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
export CMAKE_PREFIX_PATH=$messages${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
export LD_LIBRARY_PATH=$messages/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$@"
