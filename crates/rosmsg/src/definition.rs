//! What a message is made of.

use crate::TypeName;

/// A type with a size of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of ROS")]
pub enum Primitive {
    Bool,
    Byte,
    Char,
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float32,
    Float64,
}

impl Primitive {
    /// All of them, by the names that definitions use.
    pub const NAMES: [(&'static str, Self); 13] = [
        ("bool", Self::Bool),
        ("byte", Self::Byte),
        ("char", Self::Char),
        ("int8", Self::Int8),
        ("uint8", Self::Uint8),
        ("int16", Self::Int16),
        ("uint16", Self::Uint16),
        ("int32", Self::Int32),
        ("uint32", Self::Uint32),
        ("int64", Self::Int64),
        ("uint64", Self::Uint64),
        ("float32", Self::Float32),
        ("float64", Self::Float64),
    ];

    /// How many bytes it takes, which is also what it is aligned to.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Char | Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }

    /// Whether it is an unsigned byte, whatever its name.
    pub fn is_byte(self) -> bool {
        matches!(self, Self::Byte | Self::Char | Self::Uint8)
    }
}

/// What a field holds, or an array's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number, a boolean or a byte.
    Primitive(Primitive),
    /// `string`.
    Text {
        /// The most bytes it may have (`string<=10`). Not enforced: ROS 2 takes longer ones too.
        bound: Option<usize>,
    },
    /// `wstring`.
    WideText {
        /// The most UTF-16 code units it may have. Not enforced.
        bound: Option<usize>,
    },
    /// Another message, by its place in [`Schema::structures`](crate::Schema::structures).
    Structure(usize),
}

/// How many elements a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// It is no array.
    One,
    /// `T[5]`.
    Fixed(usize),
    /// `T[]` or `T[<=5]`.
    Sequence {
        /// The most elements that it may have. Not enforced: ROS 2 takes longer ones too.
        bound: Option<usize>,
    },
}

/// One field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub element: Element,
    /// How many of it.
    pub count: Count,
    /// `"name":`, as JSON wants it.
    pub(crate) key: String,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantValue {
    /// Of `bool`.
    Bool(bool),
    /// Of all integers.
    Integer(i128),
    /// Of `float32` and `float64`.
    Float(f64),
    /// Of `string` and `wstring`, its quotes and escapes resolved.
    Text(String),
}

/// A constant of a message: not in its bytes, but what a value may be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// The type that it was written with ("uint8").
    pub type_text: String,
    /// Its value.
    pub value: ConstantValue,
}

/// A message type, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Its name.
    pub name: TypeName,
    /// Its fields, in the order of their bytes. A message without any has one byte in CDR, which
    /// rosidl calls `structure_needs_at_least_one_member`.
    pub fields: Vec<Field>,
    /// Its constants, in the order of its definition.
    pub constants: Vec<Constant>,
    /// The fewest bytes that it may take, padding apart; at least 1.
    pub(crate) least_bytes: usize,
    /// When its size follows from the place alone: the bytes it takes, leading padding included,
    /// when it begins at a multiple of 8 and this many bytes.
    pub(crate) flat: Option<[usize; 8]>,
    /// How deep it is nested: 1 for a message of primitives.
    pub(crate) depth: usize,
}

impl Structure {
    /// The field of that name, and its place.
    pub fn field(&self, name: &str) -> Option<(usize, &Field)> {
        self.fields.iter().enumerate().find(|(_, field)| field.name == name)
    }

    /// The constants with this integer value: what an enumeration-like field may mean.
    pub fn constants_of(&self, value: i128) -> impl Iterator<Item = &Constant> {
        self.constants.iter().filter(move |c| c.value == ConstantValue::Integer(value))
    }
}
