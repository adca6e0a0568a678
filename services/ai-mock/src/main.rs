//! The AI service of the pipeline, imitated.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_kit::main::<hopwatch_ai_mock::Config, hopwatch_ai_mock::Flags, _, _>(
        hopwatch_ai_mock::IDENTITY,
        hopwatch_ai_mock::run,
    )
}
