//! Messages of the types that this program was built with, by r2r.

use super::{Publishing, Role, Shapes, Typed, publish, take, unknown};
use anyhow::Context;
use hopwatch_kit::Shutdown;
use hopwatch_lab::shapes::Shape;
use hopwatch_lab::shapes::values::{Columns, i32_of, u32_of};
use r2r::QosProfile;
use r2r::builtin_interfaces::msg::Time;
use r2r::hopwatch_lab_msgs::msg::{
    Foo, FooArray, FooSplit, FooStamped, FooStampedArray, FooStampedSplit,
};

/// Publishes or takes the type that is named.
pub(super) fn run(args: &Shapes, asked: &Shutdown) -> anyhow::Result<()> {
    match args.of.to_string().as_str() {
        "hopwatch_lab_msgs/msg/FooArray" => of::<FooArray>(args, asked),
        "hopwatch_lab_msgs/msg/FooSplit" => of::<FooSplit>(args, asked),
        "hopwatch_lab_msgs/msg/FooStampedArray" => of::<FooStampedArray>(args, asked),
        "hopwatch_lab_msgs/msg/FooStampedSplit" => of::<FooStampedSplit>(args, asked),
        _ => unknown(&args.of),
    }
}

fn of<T: Typed>(args: &Shapes, asked: &Shutdown) -> anyhow::Result<()> {
    let columns = Columns::of(&args.shape(&args.given())?);
    if args.role == Role::Publish {
        return publish::publish(args, asked, &ByR2r::<T>::new(args)?);
    }
    // Each message is made; whether it is the right one is looked at of the last one only.
    let due = T::construct(&columns);
    take::take(args, asked, move |bytes| {
        let message = T::from_serialized_bytes(bytes).context("a message can't be read")?;
        Ok(std::hint::black_box(message) == due)
    })
}

/// A publisher of r2r.
struct ByR2r<T: Typed> {
    publisher: r2r::Publisher<T>,
    /// The publisher is the node's.
    _node: r2r::Node,
    shape: Shape,
    columns: Columns,
}

impl<T: Typed> ByR2r<T> {
    fn new(args: &Shapes) -> anyhow::Result<Self> {
        let context = r2r::Context::create().context("failed to initialise ROS 2")?;
        let mut node =
            r2r::Node::create(context, "shapes_publish", "").context("failed to create a node")?;
        let qos = QosProfile::default().best_effort().volatile().keep_last(super::QOS.depth);
        let publisher = node
            .create_publisher::<T>(&args.topic, qos)
            .with_context(|| format!("failed to create a publisher on {}", args.topic))?;
        let shape = args.shape(&args.given())?;
        Ok(Self { publisher, _node: node, columns: Columns::of(&shape), shape })
    }
}

impl<T: Typed> Publishing for ByR2r<T> {
    type Message = T;
    const IS_BYTES: bool = false;

    fn construct(&self) -> T {
        T::construct(&self.columns)
    }

    fn serialize(&self, message: &T) -> anyhow::Result<Vec<u8>> {
        message.to_serialized_bytes().context("failed to serialize")
    }

    fn publish(&self, message: &T) -> anyhow::Result<()> {
        self.publisher.publish(message).context("failed to publish")
    }

    fn deserialize(&self, bytes: &[u8]) -> anyhow::Result<T> {
        T::from_serialized_bytes(bytes).context("failed to deserialize")
    }

    fn same(&self, a: &T, b: &T) -> bool {
        a == b
    }

    fn matched(&self) -> anyhow::Result<usize> {
        self.publisher.get_inter_process_subscription_count().context("failed to count")
    }

    fn size_at(&self, args: &Shapes, n: u64) -> anyhow::Result<u64> {
        let shape = args.shape(&args.given_at(&self.shape, n))?;
        let message = T::construct(&Columns::of(&shape));
        Ok(u64::try_from(self.serialize(&message)?.len())?)
    }
}

fn u32s(column: &[u64]) -> Vec<u32> {
    column.iter().map(|x| u32_of(*x)).collect()
}

fn i32s(column: &[u64]) -> Vec<i32> {
    column.iter().map(|x| i32_of(*x)).collect()
}

impl Typed for FooArray {
    fn construct(columns: &Columns) -> Self {
        let each = columns.leaf(0).iter().zip(columns.leaf(1));
        let my_large_array =
            each.map(|(one, two)| Foo { foo_1: *one, foo_2: u32_of(*two) }).collect();
        Self { my_large_array }
    }
}

impl Typed for FooSplit {
    fn construct(columns: &Columns) -> Self {
        Self { foo_1_array: columns.leaf(0).to_vec(), foo_2_array: u32s(columns.leaf(1)) }
    }
}

impl Typed for FooStampedArray {
    fn construct(columns: &Columns) -> Self {
        let stamps = columns.leaf(2).iter().zip(columns.leaf(3));
        let each = columns.leaf(0).iter().zip(columns.leaf(1)).zip(stamps);
        let my_large_array = each
            .map(|((one, two), (sec, nanosec))| FooStamped {
                foo_1: *one,
                foo_2: u32_of(*two),
                stamp: Time { sec: i32_of(*sec), nanosec: u32_of(*nanosec) },
            })
            .collect();
        Self { my_large_array }
    }
}

impl Typed for FooStampedSplit {
    fn construct(columns: &Columns) -> Self {
        Self {
            foo_1_array: columns.leaf(0).to_vec(),
            foo_2_array: u32s(columns.leaf(1)),
            stamp_sec: i32s(columns.leaf(2)),
            stamp_nanosec: u32s(columns.leaf(3)),
        }
    }
}
