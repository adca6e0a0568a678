//! Nanosecond stamps as decimal strings, for JSON readers whose numbers end at 2^53.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes `ns` as a decimal string.
pub fn serialize<S: Serializer>(ns: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(itoa::Buffer::new().format(*ns))
}

/// Reads a decimal string.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!("{:?} is no decimal count of nanoseconds", clip(&text)))
    })
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The same for a stamp that may be missing (`null`).
pub mod option {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes a decimal string or `null`.
    pub fn serialize<S: Serializer>(ns: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
        match ns {
            Some(ns) => super::serialize(ns, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a decimal string or `null`.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<i64>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| {
                text.parse().map_err(|_| {
                    D::Error::custom(format!(
                        "{:?} is no decimal count of nanoseconds",
                        super::clip(&text)
                    ))
                })
            })
            .transpose()
    }
}
