//! The live page in a real browser, driven from a test (`e2e/browser/drive.mjs`).

use hopwatch_e2e::browser_folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How long the page may take to show something, in ms.
pub const PATIENCE_MS: u64 = 60_000;

/// Node and Chromium, or which of them is missing.
pub fn browser() -> Result<(PathBuf, PathBuf), String> {
    let find = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&path);
        folders.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file()))
    };
    let chromium = std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| find("chromium"));
    let chromium = chromium.ok_or("needs Chromium (apt-get install chromium)")?;
    let node = find("node").ok_or("needs Node (apt-get install nodejs)")?;
    Ok((node, chromium))
}

/// The same; `None`, told, where there is none and the test need not be.
pub fn browser_or_skip() -> Option<(PathBuf, PathBuf)> {
    match browser() {
        Ok(both) => Some(both),
        Err(missing) => {
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            eprintln!("skipped: {missing}");
            None
        }
    }
}

/// An open page. Dropped, its browser ends.
pub struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// Opens the page; screenshots lie in `e2e/browser/out`, their names begin with `shots`.
    pub fn open((node, chromium): &(PathBuf, PathBuf), url: &str) -> Self {
        let out = browser_folder().join("out");
        std::fs::create_dir_all(&out).unwrap();
        Self::start(node, chromium, url, &out)
    }

    fn start(node: &Path, chromium: &Path, url: &str, shots: &Path) -> Self {
        let mut child = Command::new(node)
            .arg(browser_folder().join("drive.mjs"))
            .args(["--url", url, "--shots"])
            .arg(shots)
            .env("CHROMIUM", chromium)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, answers: BufReader::new(stdout) }
    }

    #[track_caller]
    fn tell(&mut self, what: &Value) -> Value {
        writeln!(self.stdin.as_mut().unwrap(), "{what}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer)
            .unwrap_or_else(|_| panic!("the page answered {answer:?} to {what}"))
    }

    /// Everything that the page shows.
    #[track_caller]
    pub fn look(&mut self) -> Value {
        self.tell(&json!({ "do": "look" }))
    }

    /// The lanes as the collector sent them last, by name.
    #[track_caller]
    pub fn fed(&mut self) -> Value {
        self.tell(&json!({ "do": "fed" }))
    }

    /// Waits until something is shown.
    #[track_caller]
    pub fn wait(&mut self, selector: &str) {
        let waited = self.tell(&json!({ "do": "wait", "for": selector, "ms": PATIENCE_MS }));
        assert_eq!(waited["there"], true, "{selector} is not there: {:#}", self.look());
    }

    /// Clicks.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.tell(&json!({ "do": "click", "on": selector }));
    }

    /// Types.
    #[track_caller]
    pub fn fill(&mut self, selector: &str, text: &str) {
        self.tell(&json!({ "do": "fill", "on": selector, "text": text }));
    }

    /// Presses a key.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        self.tell(&json!({ "do": "press", "key": key }));
    }

    /// For a person to look at.
    #[track_caller]
    pub fn shot(&mut self, name: &str) {
        self.tell(&json!({ "do": "shot", "name": name }));
    }

    /// Looks until it is as wanted; gives what was seen then.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut seen = Value::Null;
        hopwatch_e2e::wait_until(what, || {
            seen = self.look();
            if wanted(&seen) { Ok(()) } else { Err(seen.to_string()) }
        });
        seen
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Its end ends the browser.
        self.stdin = None;
        let _ended = self.child.wait();
    }
}
