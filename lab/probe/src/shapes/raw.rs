//! A message as its bytes: made, published and read without a message of any language.

use super::{Publishing, QOS, Shapes};
use anyhow::Context;
use hopwatch_lab::shapes::Shape;
use hopwatch_lab::shapes::values::{Columns, encode, holds};
use hopwatch_tap::{TypeSupport, Writer, WriterConfig};

/// A publisher of bytes.
pub(super) struct Raw {
    writer: Writer,
    reading: Reading,
}

/// What the bytes hold.
pub(super) struct Reading {
    shape: Shape,
    columns: Columns,
}

impl Reading {
    pub(super) fn new(args: &Shapes) -> anyhow::Result<Self> {
        let shape = args.shape(&args.given())?;
        let columns = Columns::of(&shape);
        Ok(Self { shape, columns })
    }

    /// Reads every value; whether all are those that are due.
    pub(super) fn holds(&self, bytes: &[u8]) -> anyhow::Result<bool> {
        Ok(holds(&self.shape, &self.columns, bytes)?)
    }
}

impl Raw {
    pub(super) fn new(args: &Shapes) -> anyhow::Result<Self> {
        let writer = Writer::new(&WriterConfig {
            node_name: "shapes_publish".to_owned(),
            namespace: String::new(),
            domain_id: None,
            topic: args.topic.clone(),
            type_support: TypeSupport::named(&args.of.to_string())?,
            qos: QOS,
        })?;
        Ok(Self { writer, reading: Reading::new(args)? })
    }
}

impl Publishing for Raw {
    /// The bytes, or after reading nothing: that they hold what is due was seen then.
    type Message = Vec<u8>;
    const IS_BYTES: bool = true;

    fn construct(&self) -> Vec<u8> {
        encode(&self.reading.shape, &self.reading.columns, 0)
    }

    fn serialize(&self, message: &Vec<u8>) -> anyhow::Result<Vec<u8>> {
        Ok(message.clone())
    }

    fn publish(&self, message: &Vec<u8>) -> anyhow::Result<()> {
        Ok(self.writer.publish(message)?)
    }

    fn deserialize(&self, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        let same = self.reading.holds(bytes).context("the bytes can't be read")?;
        anyhow::ensure!(same, "the round trip changed the message");
        Ok(Vec::new())
    }

    fn same(&self, _made: &Vec<u8>, read: &Vec<u8>) -> bool {
        read.is_empty()
    }

    fn matched(&self) -> anyhow::Result<usize> {
        Ok(self.writer.matched()?)
    }

    fn size_at(&self, args: &Shapes, n: u64) -> anyhow::Result<u64> {
        let shape = args.shape(&args.given_at(&self.reading.shape, n))?;
        Ok(u64::try_from(encode(&shape, &Columns::of(&shape), 0).len())?)
    }
}
