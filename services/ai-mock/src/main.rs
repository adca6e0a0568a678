//! The AI service of the pipeline, imitated.

fn main() -> std::process::ExitCode {
    hopwatch_ai_mock::main()
}
