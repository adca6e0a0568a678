//! Lines of JSON on standard output.

use serde::Serialize;
use std::io::Write;

/// Prints a line, whole and at once: who reads it may wait for it.
///
/// # Errors
/// When nobody reads any more.
pub fn say(line: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(())
}
