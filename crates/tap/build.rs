//! Tells the crate what the ROS 2 it is built against offers.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROS_DISTRO");
    // RCL_SUBSCRIPTION_MATCHED came with Iron Irwini (rcl 6); Humble Hawksbill has no such event.
    if std::env::var("ROS_DISTRO").as_deref() != Ok("humble") {
        println!("cargo::rustc-cfg=ros_matched_event");
    }
}
