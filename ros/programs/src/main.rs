//! The programs that need ROS, in one by their names. Each of them builds alone, too.

use hopwatch_kit::Main;
use std::process::ExitCode;

const PROGRAMS: [(&str, Main); 3] = [
    (hopwatch_gateway::IDENTITY.program, hopwatch_gateway::main),
    (hopwatch_robot_sim::IDENTITY.program, hopwatch_robot_sim::main),
    (hopwatch_lab_probe::PROGRAM, hopwatch_lab_probe::main),
];

fn main() -> ExitCode {
    if let Some(main) = hopwatch_kit::called(&PROGRAMS) {
        return main();
    }
    let names: Vec<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    eprintln!("error: this is {}, under whose names it must be called", names.join(", "));
    ExitCode::from(hopwatch_kit::service::exit::USAGE)
}
