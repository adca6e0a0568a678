//! Packets lost for real: robot, gateway and services in network namespaces of their own.

mod asked;
mod inside;
mod namespaces;
mod sweep;

pub(crate) use asked::{Asked, NetworkArgs};
pub(crate) use inside::Inside;
pub(crate) use namespaces::{Namespaces, Place};
pub(crate) use sweep::sweep;
