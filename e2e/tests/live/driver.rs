//! The live page in a real browser, driven from a test (`e2e/browser/drive.mjs`).

use hopwatch_e2e::{Browser, browser_folder};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How long the page may take to show something, in ms.
pub(crate) const PATIENCE_MS: u64 = 60_000;

/// An open page. Dropped, its browser ends.
pub(crate) struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// Opens the page; screenshots lie in `e2e/browser/out`, their names begin with `shots`.
    pub(crate) fn open(browser: &Browser, url: &str) -> Self {
        let out = browser_folder().join("out");
        std::fs::create_dir_all(&out).unwrap();
        Self::start(browser, url, &out)
    }

    fn start(browser: &Browser, url: &str, shots: &Path) -> Self {
        let mut child = Command::new(&browser.node)
            .arg(browser_folder().join("drive.mjs"))
            .args(["--url", url, "--shots"])
            .arg(shots)
            .env("CHROMIUM", &browser.chromium)
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
    pub(crate) fn look(&mut self) -> Value {
        self.tell(&json!({ "do": "look" }))
    }

    /// The lanes as the collector sent them last, by name.
    #[track_caller]
    pub(crate) fn fed(&mut self) -> Value {
        self.tell(&json!({ "do": "fed" }))
    }

    /// Waits until something is shown.
    #[track_caller]
    pub(crate) fn wait(&mut self, selector: &str) {
        let waited = self.tell(&json!({ "do": "wait", "for": selector, "ms": PATIENCE_MS }));
        assert_eq!(waited["there"], true, "{selector} is not there: {:#}", self.look());
    }

    /// Clicks.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        self.tell(&json!({ "do": "click", "on": selector }));
    }

    /// Types.
    #[track_caller]
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.tell(&json!({ "do": "fill", "on": selector, "text": text }));
    }

    /// Presses a key.
    #[track_caller]
    pub(crate) fn press(&mut self, key: &str) {
        self.tell(&json!({ "do": "press", "key": key }));
    }

    /// For a person to look at.
    #[track_caller]
    pub(crate) fn shot(&mut self, name: &str) {
        self.tell(&json!({ "do": "shot", "name": name }));
    }

    /// Looks until it is as wanted; gives what was seen then.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
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
