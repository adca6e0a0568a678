//! Why nothing comes: no publisher, one that can't be matched, or one that is matched and mute.
//!
//! Pure: the time, what the ROS graph shows and what is found on this machine are arguments. Each
//! trouble is told once, and again when it is over.

mod words;

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
    /// Messages published by each instance of a robot, by its own account.
    census: BTreeMap<String, u64>,
    /// Publishers of which something came.
    heard: HashSet<PublisherId>,
    known: HashMap<PublisherId, Known>,
    /// There was a publisher once.
    ever: bool,
    nobody_told: bool,
    told: HashMap<&'static str, usize>,
    look_at: Option<Ns>,
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
}

impl Silence {
    /// Nothing has come yet; it is told after `after_ns`.
    pub(crate) fn new(ours: Ours, after_ns: Ns, now: Ns) -> Self {
        Self {
            ours,
            after_ns,
            began_ns: now,
            census: BTreeMap::new(),
            heard: HashSet::new(),
            known: HashMap::new(),
            ever: false,
            nobody_told: false,
            told: HashMap::new(),
            look_at: Some(now + after_ns),
        }
    }

    /// Whether it is time to look at the graph, though nothing changed there.
    pub(crate) fn is_due(&self, now: Ns) -> bool {
        self.look_at.is_some_and(|at| now >= at)
    }

    /// A robot's own count.
    pub(crate) fn census(&mut self, instance: &str, published: u64) {
        self.census.insert(instance.to_owned(), published);
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

    /// Looks at what the graph shows, with the messages taken so far. `evidence` is asked for what
    /// this machine shows of publishers that are matched and mute.
    pub(crate) fn look(
        &mut self,
        now: Ns,
        picture: &Picture,
        taken: u64,
        evidence: impl FnOnce(&[&EndpointInfo]) -> Vec<String>,
    ) -> Vec<EventRecord> {
        let mut news = Vec::new();
        self.ours.topic.clone_from(&picture.topic);
        self.gone(picture, &mut news);
        if let Some(first) = picture.publishers.first() {
            self.somebody(now, &first.name(), &mut news);
        } else if !self.ever && !self.nobody_told && now - self.began_ns >= self.after_ns {
            self.nobody_told = true;
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
        self.mute(now, &fitting, picture.matched, taken, evidence, &mut news);
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
        if std::mem::take(&mut self.nobody_told) {
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
        taken: u64,
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
        let late: Vec<&EndpointInfo> = unheard.into_iter().filter(is_late).collect();
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
            let published = self.census.values().sum::<u64>();
            let census = (!self.census.is_empty()).then_some(published);
            // By the robots' own account there is nothing to come.
            if census.is_some_and(|published| published <= taken) {
                return;
            }
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
        let nobody = (!self.ever && !self.nobody_told).then_some(self.began_ns + self.after_ns);
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
