//! From the command line to what is measured.

use super::args::Shapes;
use super::definitions::Definitions;
use crate::args::Usage;
use hopwatch_lab::shapes::{Given, Measuring, Message, Plan, Shape};
use hopwatch_rosmsg::TypeName;

/// Larger messages are looked at, but not measured.
const LARGEST: u64 = 64 << 20;
/// Lengths N that sizes are measured at beside.
const SIZES: [u64; 4] = [0, 1, 2, 3];
/// Rounds of the quick study, and of the full one. An interval takes four.
const ROUNDS: (u32, u32) = (4, 6);
/// Iterations likewise.
const ITERATIONS: (u32, u32) = (20, 100);
/// How long they may take in a run, in ms.
const WITHIN_MS: (u32, u32) = (1500, 10_000);

/// The arrays of structures that come with the study, and their splits.
const OWN: [(&str, Option<&str>); 4] = [
    ("hopwatch_lab_msgs/msg/FooArray", None),
    ("hopwatch_lab_msgs/msg/FooSplit", Some("hopwatch_lab_msgs/msg/FooArray")),
    ("hopwatch_lab_msgs/msg/FooStampedArray", None),
    ("hopwatch_lab_msgs/msg/FooStampedSplit", Some("hopwatch_lab_msgs/msg/FooStampedArray")),
];

/// What is asked for.
pub(super) fn plan(args: &Shapes) -> Result<Plan, Usage> {
    let mut definitions = Definitions::new(&args.msg_path)?;
    let messages = if args.types.is_empty() {
        if let Some((path, _)) = args.lengths.first() {
            let text = format!("--length {path}=… is of a --type; the study's own have -n");
            return Err(Usage(text));
        }
        own(args.n, &mut definitions)?
    } else {
        named(args, &mut definitions)?
    };
    let measuring = (!args.only_static).then(|| measuring(args)).transpose()?;
    let plan =
        Plan { definitions: definitions.texts, messages, rate_hz: args.rate, measuring, run: None };
    for message in &plan.messages {
        let (_, shape) = plan.shape(message).map_err(usage)?;
        let size = shape.size().map_or(0, |size| size.serialized);
        if plan.measuring.is_some() && size > LARGEST {
            return Err(Usage(format!(
                "a {} of these lengths has {size} bytes, more than the {LARGEST} that are measured: \
                 choose smaller ones, or --static",
                message.of
            )));
        }
    }
    Ok(plan)
}

fn own(n: u64, definitions: &mut Definitions) -> Result<Vec<Message>, Usage> {
    OWN.into_iter()
        .map(|(of, split_of)| {
            let name: TypeName = of.parse().map_err(usage)?;
            let shape = Shape::new(&definitions.schema(&name)?, &Given::new()).map_err(usage)?;
            let lengths = shape.lengths.into_iter().map(|length| (length.path, n)).collect();
            Ok(Message { of: of.to_owned(), lengths, split_of: split_of.map(str::to_owned) })
        })
        .collect()
}

/// The types that were named. Each takes the lengths that are of its fields; one that is of no type
/// is refused.
fn named(args: &Shapes, definitions: &mut Definitions) -> Result<Vec<Message>, Usage> {
    let mut messages: Vec<Message> = Vec::new();
    let mut used = vec![false; args.lengths.len()];
    let mut refused = None;
    for name in args.types.iter().chain(&args.split) {
        if messages.iter().any(|message| message.of == name.to_string()) {
            return Err(Usage(format!("{name} was named twice")));
        }
        let schema = definitions.schema(name)?;
        let mut lengths = Given::new();
        for (used, (path, n)) in used.iter_mut().zip(&args.lengths) {
            match Shape::new(&schema, &Given::from([(path.clone(), *n)])) {
                Ok(_) => {
                    *used = true;
                    if lengths.insert(path.clone(), *n).is_some() {
                        return Err(Usage(format!("--length {path}=… was given twice")));
                    }
                }
                Err(error) => refused = refused.or(Some((path, error))),
            }
        }
        let split_of = (Some(name) == args.split.as_ref())
            .then(|| args.types.first().map(ToString::to_string))
            .flatten();
        messages.push(Message { of: name.to_string(), lengths, split_of });
    }
    let unused =
        |path: &str| args.lengths.iter().zip(&used).any(|((of, _), used)| of == path && !used);
    match refused {
        Some((path, error)) if unused(path) => Err(usage(error)),
        _ => Ok(messages),
    }
}

fn measuring(args: &Shapes) -> Result<Measuring, Usage> {
    let full = args.common.full;
    let of = |(quick, published)| if full { published } else { quick };
    let paced_ms =
        u32::try_from(args.paced.as_millis()).ok().filter(|ms| (1..=600_000).contains(ms));
    Ok(Measuring {
        iterations: args.iterations.unwrap_or_else(|| of(ITERATIONS)),
        warm_up: 2,
        within_ms: of(WITHIN_MS),
        paced_ms: paced_ms.ok_or_else(|| Usage("--for must be 1ms to 10m".to_owned()))?,
        sizes: if args.types.is_empty() { SIZES.to_vec() } else { Vec::new() },
        rounds: args.common.rounds.unwrap_or_else(|| of(ROUNDS)),
    })
}

fn usage(error: impl Into<anyhow::Error>) -> Usage {
    Usage(format!("{:#}", error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::lab::Lab;
    use clap::Parser;

    fn args(words: &str) -> Shapes {
        let words = ["hopwatch", "lab", "shapes"].into_iter().chain(words.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Lab(Lab::Shapes(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("own_msgs/msg");
        std::fs::create_dir_all(&place).unwrap();
        for (name, text) in [
            ("Dot", "float32 x\nbuiltin_interfaces/Time stamp\n"),
            ("Dots", "string name\nDot[] dots\n"),
            ("DotsSplit", "string name\nfloat32[] x\nint32[] sec\nuint32[] nanosec\n"),
            ("Broken", "Nowhere[] all\n"),
            ("Circle", "Circle[] all\n"),
        ] {
            std::fs::write(place.join(format!("{name}.msg")), text).unwrap();
        }
        folder
    }

    #[test]
    fn the_studys_own_messages_need_no_ros() {
        let plan = plan(&args("--static -n 7")).unwrap();
        assert_eq!(plan.messages.len(), 4);
        assert_eq!(plan.pairs().count(), 2);
        for message in &plan.messages {
            let (_, shape) = plan.shape(message).unwrap();
            assert!(shape.lengths.iter().all(|length| length.length == 7), "{shape:?}");
        }
        assert!(plan.measuring.is_none());
    }

    #[test]
    fn types_of_ones_own_take_the_lengths_that_are_theirs() {
        let folder = folder();
        let path = format!("--msg-path {}", folder.path().display());
        let words = "--type own_msgs/msg/Dots --split own_msgs/DotsSplit --length dots=5 \
                     --length name=3 --length x=5 --length sec=5 --length nanosec=5";
        let plan = plan(&args(&format!("{path} {words} --rounds 2"))).unwrap();
        let (array, split) = plan.pairs().next().unwrap();
        assert_eq!((array.lengths.len(), split.lengths.len()), (2, 4));
        let measuring = plan.measuring.unwrap();
        assert_eq!((measuring.rounds, measuring.iterations), (2, 20));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let folder = folder();
        let path = format!("--msg-path {}", folder.path().display());
        for (words, says) in [
            ("--type own_msgs/msg/Nothing", "own_msgs has no msg/Nothing.msg"),
            ("--type no_such_msgs/msg/X", "install the package no_such_msgs"),
            ("--type own_msgs/msg/Broken", "which own_msgs/msg/Broken holds (line 1)"),
            ("--type own_msgs/msg/Circle", "holds itself"),
            ("--type own_msgs/msg/Dots --length x=3", "it has name, dots"),
            ("--type own_msgs/msg/Dots --length dots=5000000000", "more than 4 GiB"),
            ("--type own_msgs/msg/Dots --length dots=90000000", "or --static"),
            ("--type own_msgs/msg/Dots --length dots=1 --length dots=2", "given twice"),
            ("--type own_msgs/msg/Dots --type own_msgs/Dots", "named twice"),
            ("--length data=3", "the study's own have -n"),
            ("--msg-path /nowhere/at/all", "is no folder"),
            ("--for 11m", "1ms to 10m"),
        ] {
            let refused = plan(&args(&format!("{path} {words}"))).unwrap_err().0;
            assert!(refused.contains(says), "{words}: {refused}");
        }
        for words in ["--length data", "--length =3", "--length data=-1", "--rate 0", "--type x"] {
            let words = format!("hopwatch lab shapes {words}");
            assert!(Cli::try_parse_from(words.split_whitespace()).is_err(), "{words}");
        }
    }
}
