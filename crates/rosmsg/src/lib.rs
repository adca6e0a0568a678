//! ROS messages of any type: from `.msg` definitions and CDR bytes to fields and JSON.
//!
//! ```
//! use hopwatch_rosmsg::{JsonOptions, Schema, TypeName, Value};
//!
//! let name: TypeName = "demo_msgs/msg/Reading".parse()?;
//! // In life the text of `prefix/share/demo_msgs/msg/Reading.msg` (`TypeName::definition_path`).
//! let schema = Schema::load(&name, |_| Ok::<_, std::io::Error>("uint8 n\nfloat64[] v".into()))?;
//! let cdr = [0, 1, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f];
//!
//! let n = schema.path("n")?; // once
//! assert_eq!(n.read(&cdr)?, Value::UInt(7)); // for each message
//!
//! let mut json = Vec::new();
//! let odd = schema.to_json(&cdr, &mut json, JsonOptions::default())?;
//! assert_eq!(json, br#"{"n":7,"v":[1.5]}"#);
//! assert!(odd.is_empty());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Schema`]: a type and everything it holds, resolved once, cheap to clone;
//! * [`FieldPath`]: `header.stamp` or `points[0].z`, resolved once;
//! * [`Schema::to_json`]: the whole message, straight to text;
//! * [`cdr`]: the bytes.
//!
//! Nothing that arrives makes it panic, allocate beyond the message, or loop longer than the
//! message is. Pure: the definitions' texts are given by the caller.

pub mod cdr;
mod definition;
pub mod flat;
mod json;
mod oddity;
mod parse;
mod parse_constant;
mod path;
mod schema;
mod type_name;

pub use cdr::CdrError;
pub use definition::{Constant, ConstantValue, Count, Element, Field, Primitive, Structure};
pub use json::JsonOptions;
pub use oddity::{Oddities, Oddity};
pub use parse::LineProblem;
pub use path::{FieldPath, PathError, Value};
pub use schema::{Schema, SchemaError};
pub use type_name::{TypeName, TypeNameError};
