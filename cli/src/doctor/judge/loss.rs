//! Of a network that loses packets on purpose.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::loss::Impairment;

const NETWORK: Area = Area("network");

/// All of it.
pub(crate) fn judge(of: &Impairment) -> Vec<Finding> {
    if of.needs_root {
        let why = "packets are lost in network namespaces, which only root may make";
        let todo =
            "as root: hopwatch doctor; without loss, hopwatch compare says nothing of RELIABLE";
        return vec![
            NETWORK.unknown("loss", "whether --loss and --delay work here", why).todo(todo),
        ];
    }
    let loss = match &of.no_loss {
        None => NETWORK.ok("loss", "--loss works here: tried in namespaces of its own"),
        Some(why) => NETWORK
            .warning("loss", format!("--loss does not work here: {why}"))
            .why("BEST_EFFORT against RELIABLE without loss proves nothing")
            .todo(
                "install iproute2 and iptables; of a container: --cap-add=NET_ADMIN --cap-add=SYS_ADMIN; \
                 the kernel needs network namespaces, veth and xt_statistic",
            ),
    };
    let delay = match (&of.no_delay, &of.no_loss) {
        (None, _) => NETWORK.ok("delay", "--delay works here: the kernel has netem"),
        (Some(_), Some(_)) => return vec![loss],
        (Some(why), None) => NETWORK
            .note("delay", format!("--delay does not work here: {why}"))
            .why("loss is tried without it; a long path is not")
            .todo("modprobe sch_netem (Debian: linux-modules-extra or the full kernel image), and tc of iproute2"),
    };
    vec![loss, delay]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::judge::tests::severity;

    #[test]
    fn what_can_be_tried_here_is_told() {
        let no = || Some("ip netns add: not permitted".to_owned());
        let all = judge(&Impairment::default());
        assert_eq!(severity(&all, "loss"), Severity::Ok);
        assert_eq!(severity(&all, "delay"), Severity::Ok);
        let all = judge(&Impairment { no_delay: no(), ..Impairment::default() });
        assert_eq!(severity(&all, "delay"), Severity::Note);
        let all = judge(&Impairment { no_loss: no(), no_delay: no(), needs_root: false });
        assert_eq!((all.len(), severity(&all, "loss")), (1, Severity::Warning));
        let all = judge(&Impairment { needs_root: true, ..Impairment::default() });
        assert_eq!(severity(&all, "loss"), Severity::Unknown);
    }
}
