//! The two messages as CDR, little-endian, by their `.msg` definitions.

use std::f32::consts::PI;

/// What stands ahead of CDR (DDS-RTPS 2.3, 10.2): plain, little-endian.
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];
/// Rays of a scan.
const RAYS: u32 = 720;

/// `sensor_msgs/msg/LaserScan` with 720 ranges, stamped.
pub(super) fn scan(stamp_ns: i64) -> Vec<u8> {
    let (seconds, nanoseconds) =
        (stamp_ns.div_euclid(1_000_000_000), stamp_ns.rem_euclid(1_000_000_000));
    let mut cdr = ENCAPSULATION.to_vec();
    cdr.extend(i32::try_from(seconds).unwrap_or(i32::MAX).to_le_bytes());
    cdr.extend(u32::try_from(nanoseconds).unwrap_or(0).to_le_bytes());
    // frame_id, with its zero, and filled up to a multiple of 4.
    cdr.extend(6_u32.to_le_bytes());
    cdr.extend(b"laser\0\0\0");
    // angle_min, angle_max, angle_increment, time_increment, scan_time, range_min, range_max
    for value in [-PI, PI, 2.0 * PI / 720.0, 0.0, 1.0 / 60.0, 0.1, 30.0] {
        cdr.extend(value.to_le_bytes());
    }
    cdr.extend(RAYS.to_le_bytes());
    for _ in 0..RAYS {
        cdr.extend(1.0_f32.to_le_bytes());
    }
    // No intensities.
    cdr.extend(0_u32.to_le_bytes());
    cdr
}

/// `geometry_msgs/msg/Twist`: linear and angular, x, y, z each.
pub(super) fn twist(speed: f64) -> Vec<u8> {
    let mut cdr = ENCAPSULATION.to_vec();
    for value in [speed, 0.0, 0.0, 0.0, 0.0, 0.0] {
        cdr.extend(value.to_le_bytes());
    }
    cdr
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_rosmsg::{JsonOptions, Schema, TypeName, Value};

    fn schema(name: &str) -> Schema {
        let name: TypeName = name.parse().unwrap();
        let definition = |of: &TypeName| {
            Ok::<_, std::io::Error>(
                match of.name() {
                    "LaserScan" => {
                        "std_msgs/Header header\nfloat32 angle_min\nfloat32 angle_max\n\
                     float32 angle_increment\nfloat32 time_increment\nfloat32 scan_time\n\
                     float32 range_min\nfloat32 range_max\nfloat32[] ranges\nfloat32[] intensities"
                    }
                    "Header" => "builtin_interfaces/Time stamp\nstring frame_id",
                    "Time" => "int32 sec\nuint32 nanosec",
                    "Twist" => "Vector3 linear\nVector3 angular",
                    "Vector3" => "float64 x\nfloat64 y\nfloat64 z",
                    _ => unreachable!("{of:?}"),
                }
                .to_owned(),
            )
        };
        Schema::load(&name, definition).unwrap()
    }

    #[test]
    fn they_are_what_their_definitions_say() {
        let scans = schema("sensor_msgs/msg/LaserScan");
        let scan = scan(7_000_000_009);
        let read = |path: &str| scans.path(path).unwrap().read(&scan).unwrap();
        assert_eq!(read("header.stamp").time_ns(), Some(7_000_000_009));
        assert_eq!(read("ranges[719]"), Value::Float(1.0));
        // The whole message, to its last byte.
        let mut json = Vec::new();
        assert!(scans.to_json(&scan, &mut json, JsonOptions::default()).unwrap().is_empty());
        let twists = schema("geometry_msgs/msg/Twist");
        let speed = twists.path("linear.x").unwrap();
        assert_eq!(speed.read(&twist(0.5)).unwrap(), Value::Float(0.5));
        twists.to_json(&twist(0.5), &mut json, JsonOptions::default()).unwrap();
    }
}
