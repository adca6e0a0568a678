//! traces.csv and glass.csv, read as anyone would.

use std::collections::BTreeMap;

/// A row: cells by the column's name.
#[derive(Clone, Debug)]
pub struct Row(BTreeMap<String, String>);

/// All rows of a file.
///
/// # Panics
/// It is no CSV.
pub fn rows(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| Row(row.unwrap())).collect()
}

impl Row {
    /// A cell; the column must be there.
    #[track_caller]
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column {column}: {:?}", self.0.keys()))
    }

    /// A number; `None` when the cell is empty.
    #[track_caller]
    pub fn maybe(&self, column: &str) -> Option<i64> {
        let text = self.text(column);
        let number = || text.parse().unwrap_or_else(|error| panic!("{column} {text:?}: {error}"));
        (!text.is_empty()).then(number)
    }

    /// A number that must be there.
    #[track_caller]
    pub fn ns(&self, column: &str) -> i64 {
        self.maybe(column).unwrap_or_else(|| panic!("{column} is empty: {self:?}"))
    }

    /// Whether the message went the whole way.
    pub fn is_delivered(&self) -> bool {
        self.text("outcome") == "delivered"
    }
}
