//! The web service of the pipeline.

fn main() -> std::process::ExitCode {
    hopwatch_broadcaster::main()
}
