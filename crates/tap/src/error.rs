//! What can go wrong, in words.

use r2r_rcl::{
    RCL_RET_NODE_INVALID_NAME, RCL_RET_NODE_INVALID_NAMESPACE, RCL_RET_OK,
    RCL_RET_TOPIC_NAME_INVALID, rcl_ret_t, rcutils_error_is_set, rcutils_get_error_string,
    rcutils_reset_error,
};
use std::ffi::{CStr, CString, c_char};

/// Why the tap could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// ROS 2 refused or failed.
    #[error("failed to {what}: {detail}")]
    Rcl {
        /// What was attempted.
        what: String,
        /// rcl's return code (`rcl/types.h`).
        code: i32,
        /// rcl's own words.
        detail: String,
    },
    /// A name or topic holds a NUL byte, which C can't carry.
    #[error("failed to {what}: the text {text:?} holds a NUL byte")]
    Nul {
        /// What was attempted.
        what: String,
        /// The text.
        text: String,
    },
    /// There is no such domain. Fast DDS would end the whole process.
    #[error(
        "failed to join ROS domain {id}: DDS has domains 0 to {}; choose another, or mend \
         ROS_DOMAIN_ID",
        crate::entity::LAST_DOMAIN
    )]
    NoSuchDomain {
        /// The domain.
        id: usize,
    },
    /// `ROS_DOMAIN_ID` names no domain.
    #[error(
        "failed to read ROS_DOMAIN_ID: {text:?} is no ROS domain (0 to {})",
        crate::entity::LAST_DOMAIN
    )]
    BadDomainVariable {
        /// What it says.
        text: String,
    },
    /// A queue depth of 0 means "whatever the middleware likes", which a measurement can't use.
    #[error("failed to open {topic}: the queue depth must be at least 1")]
    NoDepth {
        /// The topic.
        topic: String,
    },
    /// The tap has fewer subscriptions.
    #[error("the tap has no subscription {subscription}")]
    NoSuchSubscription {
        /// Its index.
        subscription: usize,
    },
    /// There is no type support for a message type.
    #[error(
        "no type support for {name:?}: {reason} (its package has to be in AMENT_PREFIX_PATH or on \
         the library path)"
    )]
    UnknownType {
        /// The name that was asked for.
        name: String,
        /// Why it could not be had.
        reason: String,
    },
    /// Bytes that are no serialized message.
    #[error(
        "failed to publish on {topic}: {bytes} bytes are no serialized message, which begins with \
         4 bytes of encapsulation header"
    )]
    NoMessage {
        /// The topic.
        topic: String,
        /// How many bytes were given.
        bytes: usize,
    },
    /// The middleware lends no message.
    #[error("failed to {what}: {why}")]
    NoLoan {
        /// What was attempted.
        what: String,
        /// Why it could not be had.
        why: String,
    },
    /// The operating system gave no thread.
    #[error("failed to start the tap's thread")]
    Thread(#[source] std::io::Error),
    /// The sink panicked; the tap has ended and left nothing behind in DDS.
    #[error("the tap ended because its sink panicked: {message}")]
    SinkPanicked {
        /// The panic's message.
        message: String,
    },
    /// The tap is no longer running.
    #[error("the tap has ended")]
    Ended,
    /// The tap was asked to wait for itself.
    #[error("the tap can't be asked or stopped from inside its own sink")]
    CalledFromSink,
}

impl TapError {
    /// Whether what was asked for can't be had by anyone: a name, a domain or a depth that is
    /// wrong by itself.
    pub fn is_wrong_usage(&self) -> bool {
        match self {
            Self::Rcl { code: ret, .. } => {
                let names = [
                    RCL_RET_TOPIC_NAME_INVALID,
                    RCL_RET_NODE_INVALID_NAME,
                    RCL_RET_NODE_INVALID_NAMESPACE,
                ];
                names.map(code).contains(ret)
            }
            Self::Nul { .. }
            | Self::NoSuchDomain { .. }
            | Self::BadDomainVariable { .. }
            | Self::NoDepth { .. }
            | Self::NoMessage { .. }
            | Self::UnknownType { .. } => true,
            _ => false,
        }
    }
}

/// Turns rcl's return code into a result. `what` completes "failed to …".
///
/// rcl keeps the words of the last error in a thread-local; they are read and cleared here, so
/// that they can't be taken for those of a later error.
pub(crate) fn check(ret: rcl_ret_t, what: impl FnOnce() -> String) -> Result<(), TapError> {
    if ret == code(RCL_RET_OK) {
        return Ok(());
    }
    let detail = take_message().unwrap_or_else(|| format!("rcl returned {ret}"));
    Err(TapError::Rcl { what: what(), code: ret, detail })
}

/// As [`check`], where nothing is left to do but to say it: finalising.
pub(crate) fn report(ret: rcl_ret_t, what: &str) {
    if let Err(error) = check(ret, || what.to_owned()) {
        tracing::warn!("{error}");
    }
}

/// Clears the words of an error that was expected.
pub(crate) fn forget() {
    // SAFETY: no preconditions; it works on this thread's own error state.
    unsafe { rcutils_reset_error() }
}

/// rcl's return codes are `int`s, but bindgen reads their macros as unsigned.
pub(crate) const fn code(constant: u32) -> rcl_ret_t {
    constant.cast_signed()
}

/// A string for C.
pub(crate) fn c_string(text: &str, what: impl FnOnce() -> String) -> Result<CString, TapError> {
    CString::new(text).map_err(|_| TapError::Nul { what: what(), text: text.to_owned() })
}

/// A string from C; `None` when the pointer is null.
///
/// # Safety
/// `pointer` is null or points to a NUL-terminated string that nobody changes meanwhile.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the rest.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

fn take_message() -> Option<String> {
    // SAFETY: no preconditions; it reads this thread's own error state.
    if !unsafe { rcutils_error_is_set() } {
        return None;
    }
    // SAFETY: no preconditions; the string is copied out by value.
    let message = unsafe { rcutils_get_error_string() };
    // SAFETY: `message.str_` is NUL-terminated within its array (rcutils/error_handling.h).
    let text = unsafe { text(message.str_.as_ptr()) };
    forget();
    text.map(|text| without_place(&text).to_owned())
}

/// rcl ends its messages with the place in its own source, which tells a user nothing.
fn without_place(message: &str) -> &str {
    message.rfind(", at ").map_or(message, |at| &message[..at]).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_complete_failed_to() {
        assert!(check(0, || "do it".into()).is_ok());
        let error = check(1, || "do it".into()).unwrap_err();
        assert_eq!(error.to_string(), "failed to do it: rcl returned 1");
    }

    #[test]
    fn the_place_in_rcl_is_cut_off() {
        assert_eq!(without_place("no node, at ./src/rcl/node.c:77"), "no node");
        assert_eq!(without_place("plain"), "plain");
    }

    #[test]
    fn nul_is_refused() {
        let error = c_string("a\0b", || "subscribe".into()).unwrap_err();
        assert!(error.to_string().contains("NUL"), "{error}");
    }
}
