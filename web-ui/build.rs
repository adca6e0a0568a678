//! Lets a newly built page be built into the program.

fn main() {
    // Cargo looks at the folder's newest change; a folder that isn't there would make it run this
    // again, and build all that stands on it anew, every time. Where it can't be made (sources
    // that are read-only) that is all that happens.
    let _read_only = std::fs::create_dir_all("dist");
    println!("cargo:rerun-if-changed=dist");
}
