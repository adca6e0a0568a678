//! rcl's context, node and guard condition, each finalised when dropped.
//!
//! Whatever needs another entity for its own finalisation holds an `Rc` of it, so that the order
//! (subscriptions, guard condition, node, shutdown, context) follows from ownership, also when an
//! error ends the making half-way. `Rc` also keeps all of them on one thread.

use crate::error::{TapError, c_string, check, report};
use r2r_rcl::{
    rcl_context_fini, rcl_context_get_domain_id, rcl_context_t, rcl_get_zero_initialized_context,
    rcl_get_zero_initialized_guard_condition, rcl_get_zero_initialized_init_options,
    rcl_get_zero_initialized_node, rcl_guard_condition_fini,
    rcl_guard_condition_get_default_options, rcl_guard_condition_init, rcl_guard_condition_t,
    rcl_init, rcl_init_options_fini, rcl_init_options_init, rcl_init_options_set_domain_id,
    rcl_init_options_t, rcl_node_fini, rcl_node_get_default_options,
    rcl_node_get_graph_guard_condition, rcl_node_init, rcl_node_t, rcl_shutdown,
    rcl_trigger_guard_condition, rcutils_get_default_allocator,
};
use std::ffi::OsStr;
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// A C struct at an address that stays, since rcl keeps pointers to it.
pub(crate) struct Fixed<T>(NonNull<T>);

impl<T> Fixed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    pub(crate) fn ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box in `new`, and is given up here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The highest domain whose UDP ports are below 65536 (DDS-RTPS 2.3, 9.6.1.1).
pub(crate) const LAST_DOMAIN: usize = 232;

/// An rcl context of its own: one participant in one DDS domain.
pub(crate) struct Context(Fixed<rcl_context_t>);

impl Context {
    /// `domain_id`: `None` takes `ROS_DOMAIN_ID` from the environment. Command line arguments are
    /// not looked at.
    pub(crate) fn new(domain_id: Option<usize>) -> Result<Rc<Self>, TapError> {
        if domain_id.is_none() {
            check_variable(std::env::var_os("ROS_DOMAIN_ID").as_deref())?;
        }
        let options = InitOptions::new()?;
        if let Some(id) = domain_id {
            // SAFETY: the options are initialised.
            let ret = unsafe { rcl_init_options_set_domain_id(options.0.ptr(), id) };
            check(ret, || format!("choose ROS domain {id}"))?;
        }
        // SAFETY: no preconditions.
        let context = Fixed::new(unsafe { rcl_get_zero_initialized_context() });
        // SAFETY: no arguments are given (0, null), the options are initialised, and the context
        // is zero-initialised.
        let ret = unsafe { rcl_init(0, ptr::null(), options.0.ptr(), context.ptr()) };
        check(ret, || "initialise ROS 2".to_owned())?;
        let context = Rc::new(Self(context));
        let mut id = 0;
        // SAFETY: the context is valid, `id` is writable.
        let ret = unsafe { rcl_context_get_domain_id(context.ptr(), &raw mut id) };
        check(ret, || "ask for the ROS domain".to_owned())?;
        if id > LAST_DOMAIN {
            return Err(TapError::NoSuchDomain { id });
        }
        Ok(context)
    }

    pub(crate) fn ptr(&self) -> *mut rcl_context_t {
        self.0.ptr()
    }
}

/// rcl refuses a wrong `ROS_DOMAIN_ID` with an error that could be anything.
fn check_variable(text: Option<&OsStr>) -> Result<(), TapError> {
    let text = text.unwrap_or_default().to_string_lossy().into_owned();
    let is_domain = text.parse::<usize>().is_ok_and(|id| id <= LAST_DOMAIN);
    // Unset or empty is domain 0.
    if text.is_empty() || is_domain { Ok(()) } else { Err(TapError::BadDomainVariable { text }) }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `new` made the context valid, and what was made with it held an `Rc` of it and
        // is gone.
        unsafe {
            report(rcl_shutdown(self.ptr()), "shut ROS 2 down");
            report(rcl_context_fini(self.ptr()), "finalise the ROS 2 context");
        }
    }
}

struct InitOptions(Fixed<rcl_init_options_t>);

impl InitOptions {
    fn new() -> Result<Self, TapError> {
        // SAFETY: no preconditions.
        let options = Fixed::new(unsafe { rcl_get_zero_initialized_init_options() });
        // SAFETY: the options are zero-initialised, and the default allocator is valid.
        let ret = unsafe { rcl_init_options_init(options.ptr(), rcutils_get_default_allocator()) };
        check(ret, || "prepare ROS 2".to_owned())?;
        Ok(Self(options))
    }
}

impl Drop for InitOptions {
    fn drop(&mut self) {
        // SAFETY: `new` initialised them; `rcl_init` keeps a copy of its own.
        report(unsafe { rcl_init_options_fini(self.0.ptr()) }, "finalise ROS 2's options");
    }
}

/// A node. It opens nothing beside what is asked of it: no `/rosout`, no parameters.
pub(crate) struct Node {
    raw: Fixed<rcl_node_t>,
    context: Rc<Context>,
}

impl Node {
    pub(crate) fn new(
        context: Rc<Context>,
        name: &str,
        namespace: &str,
    ) -> Result<Rc<Self>, TapError> {
        let what = || format!("create node {name:?} in namespace {namespace:?}");
        let c_name = c_string(name, what)?;
        let c_namespace = c_string(namespace, what)?;
        // SAFETY: no preconditions.
        let raw = Fixed::new(unsafe { rcl_get_zero_initialized_node() });
        // SAFETY: no preconditions.
        let mut options = unsafe { rcl_node_get_default_options() };
        options.enable_rosout = false;
        // SAFETY: the node is zero-initialised, the strings are NUL-terminated, the context is
        // valid and outlives the node (`context`).
        let ret = unsafe {
            rcl_node_init(
                raw.ptr(),
                c_name.as_ptr(),
                c_namespace.as_ptr(),
                context.ptr(),
                &raw const options,
            )
        };
        check(ret, what)?;
        Ok(Rc::new(Self { raw, context }))
    }

    pub(crate) fn ptr(&self) -> *mut rcl_node_t {
        self.raw.ptr()
    }

    pub(crate) fn context(&self) -> &Rc<Context> {
        &self.context
    }

    /// Triggered whenever the ROS graph changes; lives as long as the node.
    pub(crate) fn graph_changes(&self) -> *const rcl_guard_condition_t {
        // SAFETY: the node is valid.
        unsafe { rcl_node_get_graph_guard_condition(self.ptr()) }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: `new` made the node valid, and what was made with it held an `Rc` of it and is
        // gone.
        report(unsafe { rcl_node_fini(self.ptr()) }, "finalise the node");
    }
}

/// Wakes the tap's thread out of `rcl_wait`.
pub(crate) struct GuardCondition {
    raw: Fixed<rcl_guard_condition_t>,
    _context: Rc<Context>,
}

impl GuardCondition {
    pub(crate) fn new(context: Rc<Context>) -> Result<Self, TapError> {
        // SAFETY: no preconditions.
        let raw = Fixed::new(unsafe { rcl_get_zero_initialized_guard_condition() });
        // SAFETY: the guard condition is zero-initialised, the context is valid and outlives it
        // (`_context`).
        let ret = unsafe {
            rcl_guard_condition_init(
                raw.ptr(),
                context.ptr(),
                rcl_guard_condition_get_default_options(),
            )
        };
        check(ret, || "create the tap's guard condition".to_owned())?;
        Ok(Self { raw, _context: context })
    }

    pub(crate) fn ptr(&self) -> *mut rcl_guard_condition_t {
        self.raw.ptr()
    }

    /// What another thread needs to trigger it.
    ///
    /// # Safety
    /// The trigger is not used any more when the guard condition is dropped.
    pub(crate) unsafe fn trigger(&self) -> Trigger {
        Trigger(self.raw.0)
    }
}

impl Drop for GuardCondition {
    fn drop(&mut self) {
        // SAFETY: `new` initialised it, and by the promise made to `trigger` nobody triggers it
        // any more.
        report(unsafe { rcl_guard_condition_fini(self.ptr()) }, "finalise the guard condition");
    }
}

/// Triggers a [`GuardCondition`] from any thread.
pub(crate) struct Trigger(NonNull<rcl_guard_condition_t>);

// SAFETY: triggering is all that is done with it, which rcl allows from any thread, concurrently
// with `rcl_wait` and with itself.
unsafe impl Send for Trigger {}

impl Trigger {
    pub(crate) fn fire(&self) {
        // SAFETY: the guard condition is alive, by the promise made to `GuardCondition::trigger`.
        let ret = unsafe { rcl_trigger_guard_condition(self.0.as_ptr()) };
        report(ret, "wake the tap");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_domain_or_none() {
        let check = |text: &str| check_variable(Some(OsStr::new(text)));
        for good in ["", "0", "232"] {
            assert!(check(good).is_ok(), "{good}");
        }
        assert!(check_variable(None).is_ok());
        for bad in ["lab", "233", "-1", "1.5", " 7 "] {
            let error = check(bad).unwrap_err();
            assert!(error.is_wrong_usage() && error.to_string().contains(bad), "{error}");
        }
    }
}
