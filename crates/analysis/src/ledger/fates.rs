//! What became of the messages whose outcome nobody told, by the rule of the module above.

use super::numbers::{Edge, Run};
use super::writers::{Group, Robots, Writer, Written, add, count, total};
use super::{Gateway, LedgerBuilder, Moment, Standing};
use hopwatch_model::{Failure, Ledger, Outcome, PublishedSource, Stage};
use std::collections::BTreeMap;

/// Sentences of one ledger; a robot is not worth more.
const NOTES: usize = 40;

/// What can't be known of a part of a run.
const OF_A_PART: &str = "a part of a run: published counts, by the writers' numbers, from the \
    first message taken in it to the last; what was lost before the first or behind the last \
    can't be known";

/// What is missing of one gateway's messages.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    /// Among the numbers that it told of.
    holes: u64,
    /// Behind them, before the next gateway's first.
    between: u64,
    /// Behind the last number known, at the end; or, of one that died, before the first one of the
    /// next.
    beyond: u64,
    /// Of the holes: those that look overwritten in the reader's history.
    overwritten: u64,
}

/// The sums of the buckets that are worked out here.
#[derive(Debug, Default)]
struct Sums {
    before: u64,
    lost: u64,
    unknown: u64,
    /// Of the unknown: those that no gateway is known to have taken.
    spare: u64,
    overwritten: u64,
}

struct Fates<'a> {
    ledger: &'a LedgerBuilder,
    gateways: Vec<(&'a str, &'a Gateway, Standing)>,
    missing: Vec<Missing>,
    sums: Sums,
    /// Lost behind the last number known, when no gateway died.
    tail: u64,
    notes: Vec<String>,
}

pub(super) fn ledger(of: &LedgerBuilder, moment: Moment) -> Ledger {
    let gateways = of.standings(moment == Moment::Ended);
    let mut fates = Fates {
        ledger: of,
        missing: vec![Missing::default(); gateways.len()],
        gateways,
        sums: Sums::default(),
        tail: 0,
        notes: Vec::new(),
    };
    let robots = Robots::of(&of.writers, of.instances());
    let restarts = robots.restarts(&mut fates.notes);
    for group in &robots.groups {
        fates.group(group, moment);
    }
    let known = total(of.outcomes.values().copied());
    let mut published = total(robots.groups.iter().map(Group::published));
    let open = robots.groups.iter().any(Group::is_open);
    let mut reconciles = true;
    let mut untold = 0;
    for at in 0..fates.gateways.len() {
        add(&mut untold, fates.gateway(at, moment));
        reconciles &= fates.check(at, moment);
    }
    // Which of two gateways took them with it makes no difference.
    untold = untold.saturating_sub(fates.sums.spare);
    if untold > 0 && open {
        // They were taken, so they were published, whoever counted.
        add(&mut published, untold);
        add(&mut fates.sums.unknown, untold);
    } else if untold > 0 {
        reconciles = false;
        let text = "more were taken than were published, by the robots' own count";
        fates.notes.push(format!("{untold} {text}"));
    }
    // Not its queued and working: traces may be newer than the counters.
    let held = fates.held();
    let sums = &fates.sums;
    let named = total([sums.before, sums.lost, sums.unknown, known, fates.tail]);
    // What robots without a census published is known by what was taken of them; the gateway
    // holds some of it still.
    if open && moment == Moment::Running {
        published = published.max(named.saturating_add(held));
    }
    if published < named {
        reconciles = false;
        fates.notes.push(format!(
            "{named} messages are accounted for, but only {published} were published"
        ));
    }
    let rest = published.saturating_sub(named);
    let in_flight = if moment == Moment::Running { rest } else { 0 };
    let lost_in_ros = total([fates.sums.lost, fates.tail, rest - in_flight]);
    let told = total(of.counters().map(|c| c.message_lost));
    let dds_lost = told.min(lost_in_ros);
    // DDS' own word is the better evidence.
    let overwritten = fates.sums.overwritten.min(lost_in_ros - dds_lost);
    if let Some(depth) = of.history_depth.filter(|_| overwritten > 0) {
        fates.notes.push(format!(
            "{overwritten} of those lost in ROS are missing right before a message that had \
             waited in the reader's history for as long as one does when KEEP_LAST {depth} \
             overwrites: that wait is all it rests on"
        ));
    }
    let mut notes = fates.notes;
    if notes.len() > NOTES {
        let more = notes.len() - NOTES;
        notes.truncate(NOTES);
        notes.push(format!("and {more} more of the kind"));
    }
    let failed = |stage| {
        let of_stage = |(outcome, n): (&Outcome, &u64)| match outcome {
            Outcome::ServiceFailed(s, failure) if *s == stage => Some((*failure, *n)),
            _ => None,
        };
        of.outcomes.iter().filter_map(of_stage).collect::<BTreeMap<Failure, u64>>()
    };
    let outcome = |outcome| of.outcomes.get(&outcome).copied().unwrap_or(0);
    Ledger {
        published,
        published_source: source(&robots),
        lost_before_discovery: fates.sums.before,
        lost_in_ros,
        dds_lost,
        overwritten_in_history: overwritten,
        outcome_unknown: fates.sums.unknown,
        queue_dropped: outcome(Outcome::QueueDropped),
        undecodable: outcome(Outcome::Undecodable),
        ai_failed: failed(Stage::Ai),
        web_failed: failed(Stage::Web),
        abandoned: outcome(Outcome::Abandoned),
        delivered: outcome(Outcome::Delivered),
        in_flight,
        duplicates: of.duplicates,
        duplicate_ids: of.duplicate_ids,
        reordered: of.reordered,
        restarts,
        reconciles,
        notes,
    }
}

/// Whether outcomes of a gateway may still arrive.
fn may_tell(gateway: &Gateway, standing: Standing, moment: Moment) -> bool {
    moment == Moment::Running && (standing == Standing::Running || gateway.untold() > 0)
}

/// The weakest source of any group.
fn source(robots: &Robots<'_>) -> PublishedSource {
    let of_group = |group: &Group<'_>| {
        let numbered = group.writers.iter().map(|(writer, _)| match writer {
            Writer::Dds(_) => PublishedSource::PublicationSequence,
            Writer::Header(..) => PublishedSource::HeaderSequence,
        });
        if group.uncounted().is_empty() { Some(PublishedSource::Census) } else { numbered.max() }
    };
    robots.groups.iter().filter_map(of_group).max().unwrap_or(PublishedSource::Nothing)
}

impl Fates<'_> {
    /// Messages that gateways which may still tell of them took.
    fn held(&self) -> u64 {
        let alive = self.gateways.iter().filter(|(.., s)| *s != Standing::Dead);
        total(alive.map(|(_, gateway, _)| gateway.untold()))
    }

    fn index(&self, name: &str) -> usize {
        self.gateways.iter().position(|(known, ..)| *known == name).unwrap_or(0)
    }

    fn group(&mut self, group: &Group<'_>, moment: Moment) {
        self.say_what_cannot_be_known(group, moment);
        let mut last_told = Vec::new();
        for (writer, written) in &group.writers {
            last_told.extend(self.writer(written));
            let before = group.before(writer, written);
            match self.died_before(group, written) {
                Some(at) => add(&mut self.missing[at].beyond, before),
                None => add(&mut self.sums.before, before),
            }
        }
        if moment == Moment::Running {
            return;
        }
        let dead = |at: &usize| self.gateways[*at].2 == Standing::Dead;
        let died = if group.writers.is_empty() {
            (0..self.gateways.len()).find(dead)
        } else {
            last_told.into_iter().find(dead)
        };
        match died {
            Some(at) => add(&mut self.missing[at].beyond, group.rest()),
            None => add(&mut self.tail, group.rest()),
        }
    }

    /// Finds what is missing between a writer's numbers; gives the gateway that told of the last.
    fn writer(&mut self, written: &Written) -> Option<usize> {
        let mut runs: Vec<(i64, Run, usize)> = Vec::new();
        // (first number, last number, gateway)
        let mut reigns: Vec<(i64, i64, usize)> = Vec::new();
        for (name, numbers) in &written.by_gateway {
            let at = self.index(name);
            runs.extend(numbers.runs().map(|(start, run)| (start, run, at)));
            reigns.extend(numbers.first().zip(numbers.last()).map(|(f, l)| (f, l, at)));
        }
        runs.sort_by_key(|(start, ..)| *start);
        reigns.sort_unstable();
        let of_writer = total(runs.iter().map(|(start, run, _)| count(run.end - start + 1)));
        let owner = |number: i64| reigns.iter().rev().find(|(first, ..)| *first <= number);
        let mut before: Option<(i64, Edge, usize)> = None;
        for (start, run, at) in runs {
            if let Some((end, edge, told)) = before
                && start > end + 1
                && let Some((_, last, owner)) = owner(end)
            {
                let gap = written.counted(end + 1, start - 1);
                let missing = &mut self.missing[*owner];
                if *last < start {
                    add(&mut missing.between, gap);
                } else {
                    add(&mut missing.holes, gap);
                    if told == at
                        && self.looks_overwritten((end, edge), (start, run.first), of_writer)
                    {
                        add(&mut self.missing[at].overwritten, gap);
                    }
                }
            }
            before = Some((run.end, run.last, at));
        }
        reigns.last().map(|(.., at)| *at)
    }

    /// Whether the messages between two known ones may have been overwritten in the reader's
    /// history: the later one, the oldest that survived, must have waited for about depth − 1
    /// periods, and on average half a period more. One that follows a loss on the way is taken at
    /// once. A quarter of a period more than depth − 1 tells them apart.
    fn looks_overwritten(&self, before: (i64, Edge), after: (i64, Edge), of_writer: u64) -> bool {
        let Some(depth) = self.ledger.history_depth else { return false };
        let stamps = before.1.written.zip(after.1.written);
        let (Some((earlier, later)), Some(waited)) = (stamps, after.1.waited) else {
            return false;
        };
        // All writers of the topic share the history: with more of them, messages come closer.
        let all = total(self.ledger.outcomes.values().copied());
        let wide = i128::from(later.saturating_sub(earlier)).saturating_mul(i128::from(of_writer));
        let period = wide / i128::from(after.0 - before.0) / i128::from(all.max(1));
        period > 0 && 4 * i128::from(waited) >= (4 * i128::from(depth) - 3).saturating_mul(period)
    }

    /// The gateway that may have taken what a writer published before the first message known of
    /// it: one that ended without a word and told nothing of the writer, though the robot had
    /// started before the next gateway did.
    fn died_before(&self, group: &Group<'_>, written: &Written) -> Option<usize> {
        let first = written.first()?;
        let next = written.by_gateway.iter().find(|(_, n)| n.first() == Some(first))?.0;
        let (_, next, _) = self.gateways[self.index(next)];
        let (clock, start) =
            group.instances.iter().map(|c| (&c.clock, c.schedule_start_ns)).min()?;
        if clock.as_str() != self.ledger.clock || start >= next.started() {
            return None;
        }
        self.gateways.iter().rposition(|(name, gateway, standing)| {
            *standing == Standing::Dead
                && gateway.started() < next.started()
                && !written.by_gateway.contains_key(*name)
        })
    }

    /// Puts what is missing of one gateway into its buckets; gives how many messages it counted as
    /// taken that are found nowhere.
    fn gateway(&mut self, at: usize, moment: Moment) -> u64 {
        let (_, gateway, standing) = self.gateways[at];
        let missing = self.missing[at];
        let missed = gateway.counters.as_ref().map_or(0, |c| c.missed);
        let sums = &mut self.sums;
        // Before the end, records may still come: nobody has lost them yet.
        let untold = if moment == Moment::Ended { gateway.untold() } else { 0 };
        let (lost, mut untold) = match standing {
            Standing::Dead => {
                let all = total([missing.holes, missing.between, missing.beyond]);
                let lost = all.min(missed);
                add(&mut sums.unknown, all - lost);
                add(&mut sums.spare, (all - lost).saturating_sub(untold));
                (lost, untold.saturating_sub(all - lost))
            }
            // A hole may be a message that is still worked on: as long as messages are on their
            // way, only the tap knows what was really missed.
            _ if may_tell(gateway, standing, moment) => (missing.holes.min(missed), 0),
            Standing::Running | Standing::Orderly => {
                let unknown = untold.min(missing.holes);
                add(&mut sums.unknown, unknown);
                add(&mut sums.before, missing.between);
                (missing.holes - unknown, untold - unknown)
            }
        };
        add(&mut sums.lost, lost);
        add(&mut sums.overwritten, missing.overwritten.min(lost));
        for other in [&mut sums.before, &mut self.tail] {
            let found = untold.min(*other);
            *other -= found;
            add(&mut sums.unknown, found);
            untold -= found;
        }
        untold
    }

    /// A gateway's own counters against the outcomes that arrived.
    fn check(&mut self, at: usize, moment: Moment) -> bool {
        let (name, gateway, standing) = self.gateways[at];
        let several = self.gateways.len() > 1;
        let the = if several { format!("the gateway {name}") } else { "the gateway".to_owned() };
        let mut say = |text: String| self.notes.push(text);
        let Some(c) = &gateway.counters else {
            if gateway.seen > 0 && moment == Moment::Ended {
                say(format!("the counters of {the} never arrived"));
            }
            return gateway.seen == 0 || moment != Moment::Ended;
        };
        if c.records_dropped > 0 {
            say(format!(
                "{the} could not deliver {} of its records to the collector",
                c.records_dropped
            ));
        }
        match standing {
            Standing::Dead => {
                say(format!(
                    "{the} ended without a word (killed?): of what it had taken last, or would \
                     have taken next, the outcome isn't known"
                ));
                true
            }
            _ if may_tell(gateway, standing, moment) => true,
            Standing::Running | Standing::Orderly => {
                let told = gateway.seen.saturating_add(gateway.held());
                if c.taken != told {
                    say(format!(
                        "{the} took {} messages, but the outcome of {} is known",
                        c.taken, gateway.seen
                    ));
                }
                c.taken == told
            }
        }
    }

    fn say_what_cannot_be_known(&mut self, group: &Group<'_>, moment: Moment) {
        for census in &group.instances {
            if census.failed > 0 {
                self.notes.push(format!(
                    "{} could not publish {} messages: publish() refused them",
                    census.robot_id, census.failed
                ));
            }
            if !census.last && moment == Moment::Ended {
                self.notes.push(format!(
                    "{} sent no last census: what it published after the last one, and after the \
                     last message taken, can't be known",
                    census.robot_id
                ));
            }
        }
        if self.ledger.elsewhere.is_some() {
            let known = self.notes.iter().any(|note| note == OF_A_PART);
            self.notes.extend((!known).then(|| OF_A_PART.to_owned()));
            return;
        }
        let uncounted = group.uncounted();
        if uncounted.is_empty() {
            return;
        }
        let name = uncounted.join(", ");
        for (writer, written) in &group.writers {
            let first = written.first().unwrap_or(1);
            if matches!(writer, Writer::Dds(_)) && first > 1 && group.instances.is_empty() {
                self.notes.push(format!(
                    "{name} had published {} messages before the first one was taken: not counted",
                    first - 1
                ));
            }
        }
        self.notes.push(format!(
            "{name} sends no census: what it published after the last message taken can't be known"
        ));
    }
}
