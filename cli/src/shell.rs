//! `hopwatch completions` and `hopwatch man`: the command line for shells and for `man`.

use crate::args::{Cli, Completions, Man, Usage};
use crate::report::print;
use anyhow::Context;
use clap::CommandFactory;
use hopwatch_kit::service::exit;

/// Prints a script that completes words of `hopwatch`.
pub(crate) fn completions(of: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(of.shell, &mut Cli::command(), "hopwatch", &mut script);
    print(|out| std::io::Write::write_all(out, &script))?;
    Ok(exit::OK)
}

/// Prints a manual page, in roff: that of `hopwatch`, or of one of its commands.
pub(crate) fn manual(of: &Man) -> anyhow::Result<u8> {
    let mut cli = Cli::command();
    cli.build();
    let command = match &of.command {
        None => cli,
        Some(name) => {
            let found = cli.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                Usage(format!("hopwatch has no command {name:?} (hopwatch --help)"))
            })?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).context("failed to write the manual")?;
    print(|out| std::io::Write::write_all(out, &page))?;
    Ok(exit::OK)
}
