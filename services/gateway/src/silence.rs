//! Why nothing comes: no publisher, one that can't be matched, one that is matched and mute, or
//! one that went silent.
//!
//! Pure: the time, what the ROS graph shows and what is found on this machine are arguments. Each
//! trouble is told once, and again when it is over.

mod flow;
mod words;

pub(crate) use flow::{Flow, Flows};
use hopwatch_model::{Ns, PublisherId};
use hopwatch_tap::{EndpointInfo, Picture, Qos, misfit};
use hopwatch_wire::record::EventRecord;
use std::collections::{BTreeMap, HashMap, HashSet};
use words::{listed, seconds};

/// Of one kind so many events are told: publishers that come and go for ever must not flood.
const MOST_OF_A_KIND: usize = 20;
/// DDS tells of a publisher before ROS tells the name of its node; so long is waited for it.
const NAME_PATIENCE_NS: Ns = 1_000_000_000;
/// How often is looked again at what is late, but excused.
const PAUSE_NS: Ns = 1_000_000_000;
/// A publisher has gone silent after so many times its usual pause.
const USUAL_PAUSES: Ns = 3;
/// Of one message alone no usual pause can be told.
const UNKNOWN_PAUSE_NS: Ns = 20_000_000_000;

/// What the gateway subscribes with.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    pub(crate) topic: String,
    pub(crate) topic_type: String,
    pub(crate) type_hash: Option<[u8; 32]>,
    pub(crate) qos: Qos,
    /// "ROS domain 0, discovery range LOCALHOST"
    pub(crate) place: String,
}

/// What is known of the topic's publishers and their silence.
#[derive(Debug)]
pub(crate) struct Silence {
    ours: Ours,
    after_ns: Ns,
    began_ns: Ns,
    /// What each process says of the instances of robots in it.
    census: HashMap<Process, BTreeMap<String, Account>>,
    /// Publishers of which something came.
    heard: HashSet<PublisherId>,
    known: HashMap<PublisherId, Known>,
    /// There was a publisher once.
    ever: bool,
    nobody_told: Nobody,
    told: HashMap<&'static str, usize>,
    look_at: Option<Ns>,
}

/// A DDS participant, which a process has one of: the beginning of the ids of its writers
/// (DDS-RTPS 2.3, 9.3.1). With it a census belongs to the publisher that it counts for.
type Process = [u8; 12];

fn process(publisher: PublisherId) -> Process {
    let mut process = Process::default();
    process.copy_from_slice(&publisher.0[..12]);
    process
}

/// What the robot or robots of a process say of themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// Messages that they published.
    pub(crate) published: u64,
    /// The usual pause between the messages of the slowest of them.
    pub(crate) pause_ns: Ns,
    /// Nothing follows.
    pub(crate) last: bool,
}

/// A publisher in the graph.
#[derive(Debug)]
struct Known {
    name: String,
    since: Ns,
    trouble: Option<Trouble>,
    definition_told: bool,
}

/// What was told of a publisher and isn't over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Unfit,
    Unmatched,
    Mute,
    /// Since its last message, which came then.
    Silent(Ns),
}

/// What was told of nobody publishing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Nobody {
    #[default]
    Untold,
    /// With nothing like our topic elsewhere.
    Alone,
    /// With topics that may be meant.
    WithOthers,
}

impl Nobody {
    fn of(picture: &Picture) -> Self {
        if picture.elsewhere.is_empty() { Self::Alone } else { Self::WithOthers }
    }
}

impl Silence {
    /// Nothing has come yet; it is told after `after_ns`.
    pub(crate) fn new(ours: Ours, after_ns: Ns, now: Ns) -> Self {
        Self {
            ours,
            after_ns,
            began_ns: now,
            census: HashMap::new(),
            heard: HashSet::new(),
            known: HashMap::new(),
            ever: false,
            nobody_told: Nobody::Untold,
            told: HashMap::new(),
            look_at: Some(now + after_ns),
        }
    }

    /// Whether it is time to look at the graph, though nothing changed there.
    pub(crate) fn is_due(&self, now: Ns, flows: &Flows) -> bool {
        let fell_or_rose = |(&id, known): (&PublisherId, &Known)| {
            flows.get(&id).is_some_and(|flow| match known.trouble {
                None => self.is_silent(now, id, flow),
                Some(Trouble::Silent(since)) => flow.last > since,
                Some(_) => false,
            })
        };
        self.look_at.is_some_and(|at| now >= at) || self.known.iter().any(fell_or_rose)
    }

    /// A robot's own count, and the writer of it.
    pub(crate) fn census(&mut self, writer: PublisherId, instance: &str, account: Account) {
        let of_process = self.census.entry(process(writer)).or_default();
        of_process.insert(instance.to_owned(), account);
    }

    /// What the robots say that share a publisher's process; `None` without a census.
    fn account(&self, publisher: PublisherId) -> Option<Account> {
        let robots = self.census.get(&process(publisher))?.values().copied();
        robots.reduce(|a, b| Account {
            published: a.published.saturating_add(b.published),
            pause_ns: a.pause_ns.max(b.pause_ns),
            last: a.last && b.last,
        })
    }

    /// Whether nothing came of a publisher for longer than it usually pauses, and its robot
    /// doesn't say that it is over.
    fn is_silent(&self, now: Ns, publisher: PublisherId, flow: &Flow) -> bool {
        let account = self.account(publisher);
        let pause = match (flow.longest_pause(), account.map(|account| account.pause_ns)) {
            (Some(seen), said) => seen.max(said.unwrap_or(0)),
            (None, said) => said.unwrap_or(UNKNOWN_PAUSE_NS),
        };
        let patience = self.after_ns.max(pause.saturating_mul(USUAL_PAUSES));
        now - flow.last >= patience && !account.is_some_and(|account| account.last)
    }

    /// The end is near: what has lasted for a second is told.
    pub(crate) fn hurry(&mut self) {
        self.after_ns = self.after_ns.min(1_000_000_000);
    }

    /// The first message of a publisher came.
    pub(crate) fn heard(&mut self, now: Ns, publisher: PublisherId) -> Vec<EventRecord> {
        let mut news = Vec::new();
        self.heard.insert(publisher);
        self.somebody(now, "a publisher", &mut news);
        if let Some(known) = self.known.get_mut(&publisher)
            && known.trouble.take().is_some()
        {
            let (topic, after) = (&self.ours.topic, seconds(now - known.since));
            let text = format!(
                "{topic}: messages of {} come now, {after} after it was seen first",
                known.name
            );
            self.tell("silence_over", text, &mut news);
        }
        news
    }

    /// DDS told that settings don't fit; `advice` is for when it isn't seen whose.
    pub(crate) fn unfit(
        &mut self,
        now: Ns,
        offered: &[EndpointInfo],
        advice: &str,
    ) -> Vec<EventRecord> {
        let mut news = Vec::new();
        let mut seen = false;
        for publisher in offered {
            if let Some(text) = misfit(&self.ours.topic, self.ours.qos, publisher) {
                seen = true;
                self.unfit_publisher(now, publisher, "incompatible_qos", text, &mut news);
            }
        }
        if !seen {
            self.tell("incompatible_qos", advice.to_owned(), &mut news);
        }
        news
    }

    /// Looks at what the graph shows, with what has come so far. `evidence` is asked for what this
    /// machine shows of publishers that are matched and mute.
    pub(crate) fn look(
        &mut self,
        now: Ns,
        picture: &Picture,
        flows: &Flows,
        evidence: impl FnOnce(&[&EndpointInfo]) -> Vec<String>,
    ) -> Vec<EventRecord> {
        let mut news = Vec::new();
        self.ours.topic.clone_from(&picture.topic);
        self.gone(picture, &mut news);
        if let Some(first) = picture.publishers.first() {
            self.somebody(now, &first.name(), &mut news);
        } else if !self.ever
            && self.nobody_told < Nobody::of(picture)
            && now - self.began_ns >= self.after_ns
        {
            // Once more when there is now something to point at: it was just not discovered yet.
            self.nobody_told = Nobody::of(picture);
            let waited = seconds(now - self.began_ns);
            let text = words::nobody(&self.ours, &waited, &picture.elsewhere);
            self.tell("no_publisher", text, &mut news);
        }
        let mut fitting = Vec::new();
        for publisher in &picture.publishers {
            self.known(now, publisher).name = publisher.name();
            if !self.is_unfit(now, publisher, &mut news) {
                fitting.push(publisher);
            }
        }
        self.mute(now, &fitting, picture.matched, flows, evidence, &mut news);
        for publisher in fitting {
            if let Some(flow) = flows.get(&publisher.id) {
                self.pause(now, publisher, flow, &mut news);
            }
        }
        self.look_at = self.next_look(now);
        news
    }

    fn known(&mut self, now: Ns, publisher: &EndpointInfo) -> &mut Known {
        self.known.entry(publisher.id).or_insert_with(|| Known {
            name: publisher.name(),
            since: now,
            trouble: None,
            definition_told: false,
        })
    }

    /// Forgets publishers that have left; tells it of those that were told of.
    fn gone(&mut self, picture: &Picture, news: &mut Vec<EventRecord>) {
        let here: HashSet<PublisherId> = picture.publishers.iter().map(|p| p.id).collect();
        let mut gone = Vec::new();
        self.known.retain(|id, known| {
            let stays = here.contains(id);
            if let (false, Some(trouble)) = (stays, known.trouble) {
                let what = match trouble {
                    Trouble::Unfit => "which did not fit",
                    Trouble::Unmatched => "which was never matched",
                    Trouble::Mute => "of which nothing ever came",
                    Trouble::Silent(_) => "which went silent",
                };
                gone.push(format!("{}: {}, {what}, is gone", picture.topic, known.name));
            }
            stays
        });
        gone.sort();
        for text in gone {
            self.tell("silence_over", text, news);
        }
    }

    /// There is a publisher.
    fn somebody(&mut self, now: Ns, name: &str, news: &mut Vec<EventRecord>) {
        self.ever = true;
        if std::mem::take(&mut self.nobody_told) != Nobody::Untold {
            let after = seconds(now - self.began_ns);
            let text = format!("{}: {name} is there now, after {after}", self.ours.topic);
            self.tell("silence_over", text, news);
        }
    }

    /// Whether a publisher's type or settings don't fit; tells it once.
    fn is_unfit(&mut self, now: Ns, publisher: &EndpointInfo, news: &mut Vec<EventRecord>) -> bool {
        let (kind, text) = if publisher.topic_type != self.ours.topic_type {
            ("incompatible_type", words::other_type(&self.ours, publisher))
        } else if let Some(text) = misfit(&self.ours.topic, self.ours.qos, publisher) {
            ("incompatible_qos", text)
        } else {
            self.definition(now, publisher, news);
            return false;
        };
        self.unfit_publisher(now, publisher, kind, text, news);
        true
    }

    fn unfit_publisher(
        &mut self,
        now: Ns,
        publisher: &EndpointInfo,
        kind: &'static str,
        text: String,
        news: &mut Vec<EventRecord>,
    ) {
        let known = self.known(now, publisher);
        let waits = publisher.node.is_none() && now - known.since < NAME_PATIENCE_NS;
        if known.trouble != Some(Trouble::Unfit) && !waits {
            known.trouble = Some(Trouble::Unfit);
            self.tell(kind, text, news);
        }
    }

    /// A type of the same name with another definition: messages may come, and be misread.
    fn definition(&mut self, now: Ns, publisher: &EndpointInfo, news: &mut Vec<EventRecord>) {
        let (Some(ours), Some(theirs)) = (self.ours.type_hash, publisher.type_hash) else { return };
        let text = words::other_definition(&self.ours.topic, publisher, ours, theirs);
        let known = self.known(now, publisher);
        if ours != theirs && !std::mem::replace(&mut known.definition_told, true) {
            self.tell("incompatible_type", text, news);
        }
    }

    /// Tells of publishers that fit and of which nothing came in time.
    fn mute(
        &mut self,
        now: Ns,
        fitting: &[&EndpointInfo],
        matched: usize,
        flows: &Flows,
        evidence: impl FnOnce(&[&EndpointInfo]) -> Vec<String>,
        news: &mut Vec<EventRecord>,
    ) {
        let unheard = fitting.iter().filter(|publisher| !self.heard.contains(&publisher.id));
        let unheard: Vec<&EndpointInfo> = unheard.copied().collect();
        let unmatched = fitting.len().saturating_sub(matched);
        if unmatched == 0 {
            self.matched_now(now, &unheard, news);
        }
        let is_late = |publisher: &&EndpointInfo| {
            let known = self.known.get(&publisher.id);
            known.is_some_and(|k| k.trouble.is_none() && now - k.since >= self.after_ns)
        };
        let late = unheard.into_iter().filter(is_late);
        // Those of which, by their robots' own account, there is nothing to come are excused.
        let late: Vec<&EndpointInfo> =
            late.filter(|late| unmatched > 0 || self.owes(late.id, flows)).collect();
        let Some(since) = late.iter().filter_map(|p| Some(self.known.get(&p.id)?.since)).max()
        else {
            return;
        };
        let (topic, waited) = (&self.ours.topic, seconds(now - since));
        let names = listed(late.iter().map(|publisher| publisher.name()));
        let (trouble, kind, text) = if unmatched > 0 {
            let text = words::not_matched(topic, &names, unmatched, &waited);
            (Trouble::Unmatched, "not_matched", text)
        } else {
            let accounts = late.iter().filter_map(|late| self.account(late.id));
            let census = accounts.map(|account| account.published).max();
            let mut found = evidence(&late);
            if late.iter().all(|publisher| publisher.node.is_none()) {
                found.push(words::NAMELESS.to_owned());
            }
            let text = words::matched_no_samples(topic, &names, census, &waited, &found);
            (Trouble::Mute, "matched_no_samples", text)
        };
        for publisher in late {
            self.known(now, publisher).trouble = Some(trouble);
        }
        self.tell(kind, text, news);
    }

    /// Whether more should have come from a publisher's process than came. Without a census nobody
    /// knows, and it counts as yes.
    fn owes(&self, publisher: PublisherId, flows: &Flows) -> bool {
        let of_process = flows.iter().filter(|(id, _)| process(**id) == process(publisher));
        let taken: u64 = of_process.map(|(_, flow)| flow.taken).sum();
        self.account(publisher).is_none_or(|account| account.published > taken)
    }

    /// Tells that a publisher which was heard went silent, and that it is heard again.
    fn pause(
        &mut self,
        now: Ns,
        publisher: &EndpointInfo,
        flow: &Flow,
        news: &mut Vec<EventRecord>,
    ) {
        let silent = self.is_silent(now, publisher.id, flow);
        let census = self.account(publisher.id).map(|account| account.published);
        let known = self.known(now, publisher);
        match known.trouble {
            None if silent => {
                known.trouble = Some(Trouble::Silent(flow.last));
                let waited = seconds(now - flow.last);
                let name = publisher.name();
                let text = words::went_silent(&self.ours.topic, &name, flow.taken, census, &waited);
                self.tell("went_silent", text, news);
            }
            Some(Trouble::Silent(since)) if flow.last > since => {
                known.trouble = None;
                let (topic, name) = (&self.ours.topic, publisher.name());
                let after = seconds(now - since);
                let text = format!("{topic}: messages of {name} come again, after {after}");
                self.tell("silence_over", text, news);
            }
            _ => {}
        }
    }

    /// All that fit are matched: those that were not wait for their first message from now on.
    fn matched_now(&mut self, now: Ns, unheard: &[&EndpointInfo], news: &mut Vec<EventRecord>) {
        for publisher in unheard {
            let known = self.known(now, publisher);
            if known.trouble == Some(Trouble::Unmatched) {
                known.trouble = None;
                known.since = now;
                let text = format!("{}: {} is matched now", self.ours.topic, publisher.name());
                self.tell("silence_over", text, news);
            }
        }
    }

    /// Adds an event, unless there were too many of its kind.
    fn tell(&mut self, event: &'static str, mut text: String, news: &mut Vec<EventRecord>) {
        let told = self.told.entry(event).or_default();
        *told += 1;
        if *told == MOST_OF_A_KIND {
            text.push_str(" (further events of this kind are not told)");
        }
        if *told <= MOST_OF_A_KIND {
            news.push(EventRecord { event: event.to_owned(), text });
        }
    }

    /// When something will be late, or has to be looked at again, without a change of the graph.
    fn next_look(&self, now: Ns) -> Option<Ns> {
        let nobody = (!self.ever && self.nobody_told == Nobody::Untold)
            .then_some(self.began_ns + self.after_ns);
        let waiting = self
            .known
            .iter()
            .filter(|(id, known)| known.trouble.is_none() && !self.heard.contains(id))
            .flat_map(|(_, known)| [known.since + NAME_PATIENCE_NS, known.since + self.after_ns]);
        let again = |at: Ns| if at > now { at } else { now + PAUSE_NS };
        waiting.chain(nobody).map(again).min()
    }
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod tests;
