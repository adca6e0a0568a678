"""The two QoS profiles that the stack's makers compared, under their short names."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

QOS_NAMES = ("best-effort", "reliable")


def qos_profile(name: str) -> QoSProfile:
    """The profile called `name`; both ends must use the same one, or nothing arrives."""
    reliable = name == "reliable"
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        history=HistoryPolicy.KEEP_LAST,
        depth=10 if reliable else 1,
        durability=DurabilityPolicy.VOLATILE,
    )
