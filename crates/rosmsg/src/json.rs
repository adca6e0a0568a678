//! A message as JSON, from its bytes straight to text.

use crate::cdr::{CdrError, Reader};
use crate::definition::{Count, Element, Field, Primitive, Structure};
use crate::path::length;
use crate::{Oddities, Oddity, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::ser::Formatter;

/// How JSON shall look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonOptions {
    /// Arrays and sequences of `uint8`, `byte` and `char` as one Base64 text (RFC 4648, with
    /// padding) and not as numbers: an image of 6 MB becomes 8 MB of text, and not 21.
    pub base64_bytes: bool,
    /// All `int64` and `uint64` as decimal text, as Protobuf's JSON does, for readers whose
    /// numbers are doubles.
    pub text_integers: bool,
}

/// Appends the JSON of `message` to `out`, or leaves it as it was.
pub(crate) fn write(
    schema: &Schema,
    message: &[u8],
    out: &mut Vec<u8>,
    options: JsonOptions,
) -> Result<Oddities, CdrError> {
    let before = out.len();
    let structures = schema.structures();
    let mut writer = Writer {
        structures,
        reader: Reader::new(message)?,
        out,
        options,
        odd: Oddities::default(),
    };
    match writer.structure(structures.len() - 1) {
        Ok(()) => {
            if writer.reader.clone().end().is_err() {
                writer.odd.add(Oddity::LeftOver);
            }
            Ok(writer.odd)
        }
        Err(error) => {
            writer.out.truncate(before);
            Err(error)
        }
    }
}

struct Writer<'a> {
    structures: &'a [Structure],
    reader: Reader<'a>,
    out: &'a mut Vec<u8>,
    options: JsonOptions,
    odd: Oddities,
}

impl Writer<'_> {
    /// Not deeper than a schema may be.
    fn structure(&mut self, at: usize) -> Result<(), CdrError> {
        let fields = &self.structures[at].fields;
        if fields.is_empty() {
            // structure_needs_at_least_one_member
            self.reader.u8()?;
        }
        self.out.push(b'{');
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(field.key.as_bytes());
            self.field(field)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn field(&mut self, field: &Field) -> Result<(), CdrError> {
        if field.count == Count::One {
            return self.element(field.element);
        }
        let length = length(self.structures, field, &mut self.reader)?;
        match field.element {
            Element::Primitive(primitive) if primitive.is_byte() && self.options.base64_bytes => {
                let bytes = self.reader.elements(length, 1)?;
                self.base64(bytes);
                return Ok(());
            }
            Element::Primitive(primitive) if primitive.is_byte() => {
                let bytes = self.reader.elements(length, 1)?;
                self.bytes(bytes);
                return Ok(());
            }
            _ => {}
        }
        self.out.push(b'[');
        for at in 0..length {
            if at > 0 {
                self.out.push(b',');
            }
            self.element(field.element)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn element(&mut self, element: Element) -> Result<(), CdrError> {
        match element {
            Element::Primitive(primitive) => self.primitive(primitive)?,
            Element::Text { .. } => {
                let (bytes, terminated) = self.reader.lenient_string()?;
                if !terminated {
                    self.odd.add(Oddity::Unterminated);
                }
                if let Ok(text) = std::str::from_utf8(bytes) {
                    self.text(text);
                } else {
                    self.odd.add(Oddity::NotUtf8);
                    self.text(&String::from_utf8_lossy(bytes));
                }
            }
            Element::WideText { .. } => {
                let (text, sound) = self.reader.wide_string()?;
                if !sound {
                    self.odd.add(Oddity::NotUtf16);
                }
                self.text(&text);
            }
            Element::Structure(at) => self.structure(at)?,
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: Primitive) -> Result<(), CdrError> {
        match primitive {
            Primitive::Bool => {
                let value = self.reader.bool()?;
                self.out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Primitive::Byte | Primitive::Char | Primitive::Uint8 => {
                let value = self.reader.u8()?;
                self.integer(value);
            }
            Primitive::Int8 => {
                let value = self.reader.i8()?;
                self.integer(value);
            }
            Primitive::Int16 => {
                let value = self.reader.i16()?;
                self.integer(value);
            }
            Primitive::Uint16 => {
                let value = self.reader.u16()?;
                self.integer(value);
            }
            Primitive::Int32 => {
                let value = self.reader.i32()?;
                self.integer(value);
            }
            Primitive::Uint32 => {
                let value = self.reader.u32()?;
                self.integer(value);
            }
            Primitive::Int64 => {
                let value = self.reader.i64()?;
                self.large_integer(value);
            }
            Primitive::Uint64 => {
                let value = self.reader.u64()?;
                self.large_integer(value);
            }
            Primitive::Float32 => {
                let value = self.reader.f32()?;
                if value.is_finite() {
                    scalar(self.out, |format, out| format.write_f32(out, value));
                } else {
                    self.not_finite(value.into());
                }
            }
            Primitive::Float64 => {
                let value = self.reader.f64()?;
                if value.is_finite() {
                    scalar(self.out, |format, out| format.write_f64(out, value));
                } else {
                    self.not_finite(value);
                }
            }
        }
        Ok(())
    }

    fn integer(&mut self, value: impl itoa::Integer) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn large_integer(&mut self, value: impl itoa::Integer) {
        if self.options.text_integers {
            self.out.push(b'"');
            self.integer(value);
            self.out.push(b'"');
        } else {
            self.integer(value);
        }
    }

    fn not_finite(&mut self, value: f64) {
        self.odd.add(Oddity::NotFinite);
        self.out.extend_from_slice(if value.is_nan() {
            b"\"NaN\""
        } else if value > 0.0 {
            b"\"Infinity\""
        } else {
            b"\"-Infinity\""
        });
    }

    fn text(&mut self, text: &str) {
        if text.as_bytes().contains(&0) {
            self.odd.add(Oddity::HoldsNul);
        }
        // A Vec takes every write, and text has nothing that JSON couldn't say.
        let written = serde_json::to_writer(&mut *self.out, text);
        debug_assert!(written.is_ok(), "{written:?}");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.reserve(4 * bytes.len() + 2);
        self.out.push(b'[');
        for (at, byte) in bytes.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.integer(*byte);
        }
        self.out.push(b']');
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        let begin = self.out.len();
        // Four characters for every three bytes.
        self.out.resize(begin + bytes.len().div_ceil(3) * 4, 0);
        let written = BASE64_STANDARD.encode_slice(bytes, &mut self.out[begin..]);
        debug_assert!(written.is_ok(), "{written:?}");
        self.out.push(b'"');
    }
}

/// Writes as serde_json writes.
fn scalar(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut serde_json::ser::CompactFormatter, &mut Vec<u8>) -> std::io::Result<()>,
) {
    // A Vec takes every write.
    let written = write(&mut serde_json::ser::CompactFormatter, out);
    debug_assert!(written.is_ok(), "{written:?}");
}
