//! Tells the crate what the ROS 2 it is built against offers.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROS_DISTRO");
    // RCL_SUBSCRIPTION_MATCHED and the hashes of types (REP 2016) came with Iron Irwini (rcl 6);
    // Humble Hawksbill has neither.
    if std::env::var("ROS_DISTRO").as_deref() != Ok("humble") {
        println!("cargo::rustc-cfg=ros_matched_event");
        println!("cargo::rustc-cfg=ros_type_hash");
    }
}
