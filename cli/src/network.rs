//! Packets lost for real: robot, gateway and services in network namespaces of their own.

mod asked;
mod inside;
mod namespaces;
mod sweep;

pub(crate) use asked::{Asked, Leg, NetworkArgs, share};
pub(crate) use inside::Inside;
pub(crate) use namespaces::{Namespaces, Place, address_of, can_be_had};
pub(crate) use sweep::sweep_and_say;
