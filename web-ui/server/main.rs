//! The program `hopwatch-web-ui`.

fn main() -> std::process::ExitCode {
    hopwatch_web_ui::main()
}
