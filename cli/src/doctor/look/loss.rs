//! Whether `--loss` and `--delay` can be had here: by making such a network, and taking it away.

use crate::network;

/// What came of trying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Impairment {
    /// Nothing was tried: only root can.
    pub(crate) needs_root: bool,
    /// Why there is no loss; `None`: there is.
    pub(crate) no_loss: Option<String>,
    /// Why there is no delay; `None`: there is.
    pub(crate) no_delay: Option<String>,
}

impl Impairment {
    /// Makes namespaces of its own, in which no packet of anybody's goes.
    pub(crate) fn look() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self { needs_root: true, ..Self::default() };
        }
        let no_loss = network::can_be_had().err();
        let no_delay = match &no_loss {
            Some(why) => Some(why.clone()),
            // The kernel's own word stands at the end.
            None => network::can_be_late()
                .err()
                .map(|why| why.rsplit(": ").next().unwrap_or_default().to_owned()),
        };
        Self { needs_root: false, no_loss, no_delay }
    }
}
