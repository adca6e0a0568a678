//! `hopwatch completions` and `hopwatch man`: the command line for shells and for `man`.

use crate::args::{Cli, Completions};
use crate::report::print;
use anyhow::Context;
use clap::{Command, CommandFactory};
use hopwatch_kit::service::exit;

/// Prints a script that completes words of `hopwatch`.
pub(crate) fn completions(of: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(of.shell, &mut Cli::command(), "hopwatch", &mut script);
    print(|out| std::io::Write::write_all(out, &script))?;
    Ok(exit::OK)
}

/// Prints one manual page of all commands, in roff.
pub(crate) fn manual() -> anyhow::Result<u8> {
    let mut cli = Cli::command();
    cli.build();
    let mut page = Vec::new();
    of_command(&cli, &mut page).context("failed to write the manual")?;
    print(|out| std::io::Write::write_all(out, &page))?;
    Ok(exit::OK)
}

fn of_command(command: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let of_all = clap_mangen::Man::new(command.clone());
    of_all.render(page)?;
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let of_one = clap_mangen::Man::new(command.clone());
        of_one.render_synopsis_section(page)?;
        of_one.render_description_section(page)?;
        of_one.render_options_section(page)?;
    }
    Ok(())
}
