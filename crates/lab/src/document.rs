//! What a study has to say, before it is a page or a text: headings, sentences, tables, plots.

use serde::Serialize;

/// A whole report for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What was found, in sentences, ahead of everything.
    pub lead: Vec<String>,
    /// The rest.
    pub sections: Vec<Section>,
}

/// A part of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// What stands below it.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A sentence that judges.
    Claim(Mark, String),
    /// A table: its first column names the rows.
    Table {
        /// What it shows, with units.
        caption: String,
        /// The columns' heads.
        heads: Vec<String>,
        /// As many cells in each row as there are heads.
        rows: Vec<Vec<String>>,
    },
    /// Lines that are kept as they are: a definition, a command.
    Code(String),
    /// A plot of single values.
    Strips(Strips),
}

/// How sure a sentence is of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Shown by the figures, with the stated certainty.
    Shown,
    /// Not shown: neither it nor its opposite.
    NotShown,
    /// Something that makes figures doubtful, or must be known to read them.
    Beware,
}

impl Mark {
    /// Its word ahead of the sentence.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::NotShown => "not shown",
            Self::Beware => "beware",
        }
    }
}

/// Single values of several conditions along one axis: what means and deviations hide.
#[derive(Clone, Debug, PartialEq)]
pub struct Strips {
    /// Its id on the page: letters, digits, hyphens.
    pub id: String,
    /// What it is.
    pub title: String,
    /// In words what it shows, for those who don't see it.
    pub shows: String,
    /// The axis' name, without a unit where values are durations.
    pub axis: String,
    /// Whether values are durations in ns; else plain numbers.
    pub durations: bool,
    /// Whether the axis runs by ratios.
    pub log: bool,
    /// A value that is marked along the whole plot: a target or a limit.
    pub target: Option<(f64, String)>,
    /// One for each condition, from above.
    pub strips: Vec<Strip>,
}

/// One condition of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// The condition.
    pub name: String,
    /// Its values, in the order in which they were taken.
    pub values: Vec<f64>,
}
