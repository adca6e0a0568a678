//! What the doctor says: one thing each, with what to do about it.

use serde::Serialize;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing, and nothing to be done.
    Note,
    /// It works, and will bite or blur a measurement.
    Warning,
    /// It doesn't work.
    Problem,
    /// It could not be looked at.
    Unknown,
}

impl Severity {
    /// As it is printed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// One finding. `why` and `todo` are empty where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What it is about ("ROS", "topic"); findings of one area are told together.
    pub(crate) area: &'static str,
    /// Its name, for programs.
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    /// What was seen.
    pub(crate) what: String,
    /// Why it matters; of what could not be looked at, why not.
    pub(crate) why: String,
    /// What to do.
    pub(crate) todo: String,
}

impl Finding {
    /// Without a reason and something to do.
    pub(crate) fn new(
        area: &'static str,
        name: &'static str,
        severity: Severity,
        what: impl Into<String>,
    ) -> Self {
        let (what, why, todo) = (what.into(), String::new(), String::new());
        Self { area, name, severity, what, why, todo }
    }

    /// Why it matters.
    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// What to do.
    pub(crate) fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = todo.into();
        self
    }
}

/// Makes findings of one area.
#[derive(Clone, Copy)]
pub(crate) struct Area(pub(crate) &'static str);

impl Area {
    pub(crate) fn ok(self, name: &'static str, what: impl Into<String>) -> Finding {
        Finding::new(self.0, name, Severity::Ok, what)
    }
    pub(crate) fn note(self, name: &'static str, what: impl Into<String>) -> Finding {
        Finding::new(self.0, name, Severity::Note, what)
    }
    pub(crate) fn warning(self, name: &'static str, what: impl Into<String>) -> Finding {
        Finding::new(self.0, name, Severity::Warning, what)
    }
    pub(crate) fn problem(self, name: &'static str, what: impl Into<String>) -> Finding {
        Finding::new(self.0, name, Severity::Problem, what)
    }
    /// `why` it could not be looked at.
    pub(crate) fn unknown(
        self,
        name: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> Finding {
        Finding::new(self.0, name, Severity::Unknown, what).why(why)
    }
}
