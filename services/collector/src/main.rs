//! The collector.

fn main() -> std::process::ExitCode {
    hopwatch_collector::main()
}
