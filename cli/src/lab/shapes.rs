//! `hopwatch lab shapes`.
//!
//! # Protocol
//!
//! One process has one role: `hopwatch-lab-probe shapes`, `lab/python/shapes.py` and the C++ program
//! `shapes` take the same flags and print the same lines. It prints `{"ready":true}` when its
//! publisher or subscription exists, and then what it measured. It ends when its work is done; at
//! SIGINT and at the end of standard input a subscriber prints its line and ends, a publisher just
//! ends. What goes wrong is a line `error: …` on standard error and exit code 4, wrong flags 2.
//!
//! All roles: `--role publish|take|take-raw`, `--type PACKAGE/msg/TYPE`, `--topic`, `--way typed|raw`
//! (a matter of Rust's), and `--length PATH=N` for every sequence and text of the type; of texts in an
//! array the path ends in `[]`. QoS is BEST_EFFORT, VOLATILE, KEEP_LAST 5.
//!
//! The messages' values are those of [`hopwatch_lab::shapes::values`]; they are made before anything
//! is measured, as plain columns, one for each field.
//!
//! **publish** `--iterations K --warm-up W --within-ms M --size N… --bytes FILE --subscribers S
//! --rate-hz R --paced-ms P`: W iterations and then at most K, until M ms are over, but no fewer than
//! five. Each is timed step by step: *construct* (columns → message), *serialize* (message → CDR),
//! *publish* (nobody subscribes yet), *deserialize* (CDR → another message). The two messages are
//! compared, outside the times; that they differ is an error. Then one line:
//!
//! ```json
//! {"bench":{"bytes":160008,"construct_ns":[…],"serialize_ns":[…],"publish_ns":[…],
//!  "deserialize_ns":[…],"round_trips":22,"sizes":[[0,8],[1,24]]}}
//! ```
//!
//! `sizes` are those with the longest sequences N long, `bytes` that of the message, which is written
//! to FILE. Then it waits until S subscriptions are matched (30 s at most) and 500 ms more, for readers
//! that don't know of the match yet, and publishes at t0 + i/R while that is before t0 + P, each message
//! made anew. Of times that have gone by as a whole nothing is sent.
//!
//! ```json
//! {"paced":{"due":36,"sent":36,"build_ns":[…],"publish_ns":[…],"late_ns":[…],"took_ns":1167000000}}
//! ```
//!
//! **take**, **take-raw** `--for-ms T`: messages of the type, or their bytes. It ends when there was a
//! publisher, is none any more and nothing has come for 500 ms, and after T. `at_ns` are readings of
//! CLOCK_MONOTONIC when a message, or its bytes, is at hand. `bytes` is the last one's size (DDS may
//! have padded it), of take null. The last message is compared with what is due.
//!
//! ```json
//! {"took":{"received":36,"at_ns":[…],"bytes":160008}}
//! ```

mod args;
mod definitions;
mod measure;
mod plan;

pub(crate) use args::Shapes;

use super::files::{begin, finish, finish_after, folder};
use super::of_run;
use crate::report::print;
use hopwatch_kit::service::exit;
use hopwatch_lab::Study;
use hopwatch_lab::shapes::Shapes as OfShapes;
use std::io::Write;

/// `hopwatch lab shapes`.
pub(crate) async fn run(args: Shapes) -> anyhow::Result<u8> {
    let mut plan = plan::plan(&args)?;
    plan.run = args.run.as_deref().map(of_run::read).transpose()?;
    let seed = args.common.seed();
    if args.only_static {
        let mut raw = begin::<OfShapes>(plan, seed);
        raw.complete = true;
        let Some(out) = &args.common.out else {
            let text = OfShapes::report(&raw).document.markdown();
            print(|out| out.write_all(text.as_bytes()))?;
            return Ok(exit::OK);
        };
        let folder = folder::<OfShapes>(Some(out))?;
        super::files::keep::<OfShapes>(&folder, &raw)?;
        return finish::<OfShapes>(&folder, &raw);
    }
    let folder = folder::<OfShapes>(args.common.out.as_deref())?;
    let mut raw = begin::<OfShapes>(plan, seed);
    let ran = measure::measure(&args, &folder, &mut raw).await;
    finish_after::<OfShapes>(&folder, &raw, ran)
}
