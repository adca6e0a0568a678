//! Names of message types: `package/msg/Type`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A message type's name, for example `std_msgs/msg/String`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeName {
    package: String,
    name: String,
}

/// A text that names no message type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeNameError {
    /// It isn't made of package and type.
    #[error("{0:?} is no message type; one is written like std_msgs/msg/String")]
    Form(String),
    /// It is of a service or an action.
    #[error(
        "{0:?} belongs to a service or an action; only messages (package/msg/Type) can be read"
    )]
    NotAMessage(String),
    /// The package's name breaks the rules of ROS.
    #[error(
        "{0:?} is no package name: those begin with a lower-case letter, and hold such letters, \
         digits and single underscores"
    )]
    Package(String),
    /// The type's name breaks the rules of ROS.
    #[error(
        "{0:?} is no type name: those begin with a capital letter, and hold letters and digits"
    )]
    Name(String),
}

impl TypeName {
    /// A name from its two parts, checked by the rules of `rosidl_adapter`.
    pub fn new(package: &str, name: &str) -> Result<Self, TypeNameError> {
        if !is_lower_name(package) {
            return Err(TypeNameError::Package(package.to_owned()));
        }
        let mut chars = name.chars();
        if !chars.next().is_some_and(|first| first.is_ascii_uppercase())
            || !chars.all(|next| next.is_ascii_alphanumeric())
        {
            return Err(TypeNameError::Name(name.to_owned()));
        }
        Ok(Self { package: package.to_owned(), name: name.to_owned() })
    }

    /// The package ("std_msgs").
    pub fn package(&self) -> &str {
        &self.package
    }

    /// The type within its package ("String").
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its definition lies below the prefix that its package is installed in:
    /// `share/std_msgs/msg/String.msg`.
    pub fn definition_path(&self) -> String {
        format!("share/{}/msg/{}.msg", self.package, self.name)
    }

    /// Whether it is `builtin_interfaces/Time` or `Duration`: seconds and nanoseconds.
    pub(crate) fn is_time(&self) -> bool {
        self.package == "builtin_interfaces" && matches!(self.name.as_str(), "Time" | "Duration")
    }
}

/// Names of packages and fields: lower case, digits, no underscore twice or at the end.
pub(crate) fn is_lower_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
        && !text.ends_with('_')
        && !text.contains("__")
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/msg/{}", self.package, self.name)
    }
}

impl FromStr for TypeName {
    type Err = TypeNameError;

    /// Reads `package/msg/Type` and the shorter `package/Type`.
    fn from_str(text: &str) -> Result<Self, TypeNameError> {
        match text.split('/').collect::<Vec<_>>()[..] {
            [package, name] | [package, "msg", name] => Self::new(package, name),
            [_, "srv" | "action", _] => Err(TypeNameError::NotAMessage(text.to_owned())),
            _ => Err(TypeNameError::Form(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_writing_are_read() {
        for text in ["std_msgs/msg/String", "std_msgs/String"] {
            let name: TypeName = text.parse().unwrap();
            assert_eq!((name.package(), name.name()), ("std_msgs", "String"));
            assert_eq!(name.to_string(), "std_msgs/msg/String");
            assert_eq!(name.definition_path(), "share/std_msgs/msg/String.msg");
        }
    }

    #[test]
    fn what_is_no_name_is_said() {
        for (text, says) in [
            ("String", "written like"),
            ("a/b/c/D", "written like"),
            ("example/srv/Add_Request", "service or an action"),
            ("Std/msg/String", "no package name"),
            ("std__msgs/msg/String", "no package name"),
            ("std_msgs_/String", "no package name"),
            ("std_msgs/msg/string", "no type name"),
            ("std_msgs/msg/A_b", "no type name"),
            ("../msg/Etc", "no package name"),
            ("std_msgs/", "no type name"),
        ] {
            let error = text.parse::<TypeName>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
