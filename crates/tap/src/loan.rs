//! Messages in the middleware's own memory: written there by the publisher, read there by the
//! subscription, when the middleware can.

use crate::error::{TapError, check, code, forget, report};
use crate::reader::Reader;
use crate::type_support::TypeSupport;
use crate::writer::Writer;
use r2r::WrappedTypesupport;
use r2r_rcl::{
    RCL_RET_SUBSCRIPTION_TAKE_FAILED, rcl_borrow_loaned_message, rcl_publish_loaned_message,
    rcl_publisher_can_loan_messages, rcl_return_loaned_message_from_publisher,
    rcl_return_loaned_message_from_subscription, rcl_subscription_can_loan_messages,
    rcl_take_loaned_message, rmw_message_info_t,
};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// A message that a publisher borrowed from the middleware, to be filled and published. Dropped, it is
/// given back unpublished.
pub struct Loan<'a, T> {
    memory: NonNull<c_void>,
    writer: &'a Writer,
    of: PhantomData<T>,
}

/// A message that a subscription took without a copy of its own. Dropped, it is given back.
pub struct Lent<'a, T> {
    memory: NonNull<c_void>,
    reader: &'a Reader,
    of: PhantomData<T>,
}

impl Writer {
    /// Whether the middleware lends messages of this type: those without texts and sequences.
    pub fn can_lend(&self) -> bool {
        // SAFETY: the publisher is valid.
        unsafe { rcl_publisher_can_loan_messages(self.ptr()) }
    }

    /// Borrows a message.
    ///
    /// # Errors
    /// When the middleware lends none of this type, `T` isn't the writer's type, or ROS 2 fails; also
    /// when all that it has are out.
    pub fn borrow<T: WrappedTypesupport>(&self) -> Result<Loan<'_, T>, TapError> {
        let what = || format!("borrow a message of {}", self.topic());
        lends(self.can_lend(), self.of(), &TypeSupport::of::<T>(), what)?;
        let mut memory = ptr::null_mut();
        // SAFETY: the publisher and its type support are valid, `memory` is a null pointer that can
        // be written.
        let ret =
            unsafe { rcl_borrow_loaned_message(self.ptr(), self.of().handle(), &raw mut memory) };
        check(ret, what)?;
        let memory = NonNull::new(memory).ok_or_else(|| nothing(what()))?;
        Ok(Loan { memory, writer: self, of: PhantomData })
    }
}

impl<T: WrappedTypesupport> Loan<'_, T> {
    /// The message as C has it in memory: its fields in order, aligned.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the memory is a message of the writer's type, which is T (`borrow`), and nobody
        // else's while it is lent. The middleware made it, outside of Rust's knowledge, so it counts
        // as written. Types that can be lent hold numbers only: any bytes are a valid message.
        unsafe {
            std::slice::from_raw_parts_mut(self.memory.as_ptr().cast(), size_of::<T::CStruct>())
        }
    }

    /// Publishes it: the memory is the middleware's again.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn publish(self) -> Result<(), TapError> {
        let loan = ManuallyDrop::new(self);
        // SAFETY: the publisher is valid, and lent this memory, which isn't used afterwards, but given back
        // where it was not taken.
        let ret = unsafe {
            rcl_publish_loaned_message(loan.writer.ptr(), loan.memory.as_ptr(), ptr::null_mut())
        };
        let published =
            check(ret, || format!("publish a borrowed message on {}", loan.writer.topic()));
        if published.is_err() {
            // It is still lent: a writer with loans out can't be closed.
            drop(ManuallyDrop::into_inner(loan));
        }
        published
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the publisher is valid, and lent this memory, which isn't used afterwards.
        let ret = unsafe {
            rcl_return_loaned_message_from_publisher(self.writer.ptr(), self.memory.as_ptr())
        };
        report(ret, "give a borrowed message back");
    }
}

impl Reader {
    pub(crate) fn can_lend(&self) -> bool {
        // SAFETY: the subscription is valid.
        unsafe { rcl_subscription_can_loan_messages(self.subscription_ptr()) }
    }
}

impl<'a, T: WrappedTypesupport> Lent<'a, T> {
    pub(crate) fn take(reader: &'a Reader, of: &TypeSupport) -> Result<Option<Self>, TapError> {
        let what = || format!("take a lent message of {}", of.name());
        lends(reader.can_lend(), of, &TypeSupport::of::<T>(), what)?;
        let mut memory = ptr::null_mut();
        let mut info = rmw_message_info_t::default();
        // SAFETY: the subscription is valid, `memory` is a null pointer that can be written, the info
        // is writable, and no allocation is given.
        let ret = unsafe {
            rcl_take_loaned_message(
                reader.subscription_ptr(),
                &raw mut memory,
                &raw mut info,
                ptr::null_mut(),
            )
        };
        if ret == code(RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
            forget();
            return Ok(None);
        }
        check(ret, what)?;
        let memory = NonNull::new(memory).ok_or_else(|| nothing(what()))?;
        Ok(Some(Self { memory, reader, of: PhantomData }))
    }

    /// The message as C has it in memory: its fields in order, aligned.
    ///
    /// With data sharing, Fast DDS counts a message as received when it is taken, and its writer may write the
    /// next one there once its whole pool was used after it: whoever keeps a message for longer than that
    /// may find another one in it, or two halves. Look at what marks a message whole.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is a message of the subscription's type, which is T (`take`), and stays mapped
        // until it is given back. Another process may write there in the case above; nothing of this
        // program does.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), size_of::<T::CStruct>()) }
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the subscription is valid, and lent this memory, which isn't used afterwards.
        let ret = unsafe {
            rcl_return_loaned_message_from_subscription(
                self.reader.subscription_ptr(),
                self.memory.as_ptr(),
            )
        };
        report(ret, "give a lent message back");
    }
}

/// Whether messages of `given` can be lent where `of` is spoken.
fn lends(
    can: bool,
    of: &TypeSupport,
    given: &TypeSupport,
    what: impl Fn() -> String,
) -> Result<(), TapError> {
    // Of one name, two libraries may have two layouts.
    if of.name() != given.name() || !ptr::eq(of.handle(), given.handle()) {
        let why = format!("{} was asked for", given.name());
        return Err(TapError::NoLoan { what: what(), why });
    }
    let why = "the middleware doesn't lend here".to_owned();
    if can { Ok(()) } else { Err(TapError::NoLoan { what: what(), why }) }
}

fn nothing(what: String) -> TapError {
    TapError::NoLoan { what, why: "the middleware gave no memory".to_owned() }
}

impl<T> fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("memory", &self.memory).finish_non_exhaustive()
    }
}
