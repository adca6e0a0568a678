//! How much the kernel drops, and that it can be another share from now on.
//!
//! On each lossy device in each namespace, what arrives is counted by one rule and goes through the
//! chain `lose-LEG`, whose only rule sends a share of it on to `drop-LEG`, where it is counted and
//! dropped. Another share replaces that one rule: the counters of the others go on.

use super::asked::Leg;
use super::namespaces::ip;
use crate::fetch::Collector;
use hopwatch_analysis::LossChange;
use hopwatch_kit::controls::{NotSet, Settings};
use hopwatch_wire::controls::NetworkSettings;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What the name of the chain begins with that decides on a packet.
pub(super) const LOSE: &str = "lose-";

/// The share that is lost, on all devices that lose anything.
pub(crate) struct Loss {
    /// Namespace and leg of each lossy device.
    devices: Vec<(String, Leg)>,
    since: Instant,
    /// Held while the kernel is waited for.
    setting: Mutex<()>,
    /// Held for a moment only: whoever asks how things stand doesn't wait for the kernel.
    state: Mutex<State>,
}

struct State {
    loss: f64,
    changes: Vec<LossChange>,
}

impl Loss {
    /// Nothing is in the kernel yet.
    pub(super) fn new(loss: f64, devices: Vec<(String, Leg)>) -> Self {
        let state = Mutex::new(State { loss, changes: Vec::new() });
        Self { devices, since: Instant::now(), setting: Mutex::new(()), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn share(&self) -> f64 {
        self.state().loss
    }

    /// What was set since the beginning.
    pub(crate) fn changes(&self) -> Vec<LossChange> {
        self.state().changes.clone()
    }

    /// Makes the rules.
    pub(super) fn build(&self) -> anyhow::Result<()> {
        let share = self.share();
        for (namespace, leg) in &self.devices {
            let (iptables, name) = (iptables(namespace), leg.name());
            ip(&format!("{iptables} -N drop-{name}"))?;
            ip(&format!("{iptables} -A drop-{name} -i {name} -j DROP"))?;
            ip(&format!("{iptables} -N {LOSE}{name}"))?;
            ip(&format!("{iptables} -A {LOSE}{name} {}", rule(share, *leg)))?;
            ip(&format!("{iptables} -A PREROUTING -i {name} -j {LOSE}{name}"))?;
        }
        Ok(())
    }

    /// Loses another share from now on; on all devices or, if that can be had, on none. Waits for
    /// the kernel.
    fn set(&self, loss: f64) -> anyhow::Result<LossChange> {
        self.set_by(replace, loss)
    }

    fn set_by(
        &self,
        replace: impl Fn(&(String, Leg), f64) -> anyhow::Result<()>,
        loss: f64,
    ) -> anyhow::Result<LossChange> {
        let _alone = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.share();
        let replaced = self.devices.iter().try_for_each(|device| replace(device, loss));
        if let Err(error) = replaced {
            for device in &self.devices {
                let _as_well_as_it_goes = replace(device, before);
            }
            return Err(error);
        }
        let after = i64::try_from(self.since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let change = LossChange { after_ns: after, loss };
        let mut state = self.state();
        state.loss = loss;
        state.changes.push(change);
        Ok(change)
    }
}

fn replace((namespace, leg): &(String, Leg), loss: f64) -> anyhow::Result<()> {
    let chain = format!("{LOSE}{}", leg.name());
    ip(&format!("{} -R {chain} 1 {}", iptables(namespace), rule(loss, *leg))).map(drop)
}

fn iptables(namespace: &str) -> String {
    format!("netns exec {namespace} iptables -w -t mangle")
}

fn rule(loss: f64, leg: Leg) -> String {
    let name = leg.name();
    format!("-m statistic --mode random --probability {loss:.10} -j drop-{name}")
}

/// The loss as it can be set, and told of to the collector.
pub(crate) struct LossControl {
    loss: Arc<Loss>,
    collector: Arc<Collector>,
}

impl LossControl {
    pub(crate) fn new(loss: Arc<Loss>, collector: Arc<Collector>) -> Self {
        Self { loss, collector }
    }
}

impl Settings for LossControl {
    type Value = NetworkSettings;

    fn now(&self) -> NetworkSettings {
        NetworkSettings { loss: self.loss.share() }
    }

    async fn set(&self, wanted: NetworkSettings) -> Result<(), NotSet> {
        let share = wanted.loss;
        if !(0.0..=1.0).contains(&share) {
            return Err(NotSet::Refused(format!("loss must lie between 0 and 1, not {share}")));
        }
        let loss = Arc::clone(&self.loss);
        let setting = tokio::task::spawn_blocking(move || loss.set(share.abs())).await;
        let failed = |why: String| NotSet::Failed(format!("the loss can't be set: {why}"));
        let change = setting
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(format!("{error:#}")))?;
        // The report has it from us; this is for those who watch.
        let text = format!("the network's loss was set: {}", change.said());
        if let Err(error) = self.collector.tell("loss_changed", text).await {
            tracing::warn!("failed to tell the collector of another loss: {error:#}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn who_asks_does_not_wait_for_the_kernel() {
        let devices = vec![("a".to_owned(), Leg::Ros), ("b".to_owned(), Leg::Ros)];
        let loss = Loss::new(0.25, devices);
        let told = RefCell::new(Vec::new());
        let replace = |(name, _): &(String, Leg), share: f64| {
            // As the page does meanwhile, on another thread.
            assert!(loss.state.try_lock().is_ok(), "{name} waits");
            told.borrow_mut().push((name.clone(), share, loss.share()));
            anyhow::ensure!(name != "b" || share < 0.75, "no");
            Ok(())
        };
        loss.set_by(replace, 0.5).unwrap();
        let of = |name: &str, share, seen| (name.to_owned(), share, seen);
        assert_eq!(told.take(), [of("a", 0.5, 0.25), of("b", 0.5, 0.25)]);
        // On none, when it fails on one.
        loss.set_by(replace, 0.75).unwrap_err();
        let back = [of("a", 0.75, 0.5), of("b", 0.75, 0.5), of("a", 0.5, 0.5), of("b", 0.5, 0.5)];
        assert_eq!(told.take(), back);
        let changes: Vec<f64> = loss.changes().iter().map(|change| change.loss).collect();
        assert_eq!((changes, loss.share().to_bits()), (vec![0.5], 0.5_f64.to_bits()));
    }
}
