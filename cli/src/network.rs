//! Packets lost for real: robot, gateway and services in network namespaces of their own.

mod asked;
mod door;
mod inside;
mod loss;
mod namespaces;
mod sweep;

pub(crate) use asked::{Asked, Leg, NetworkArgs, share};
pub(crate) use door::Door;
pub(crate) use inside::Inside;
pub(crate) use loss::LossControl;
pub(crate) use namespaces::{Namespaces, Place, address_of, can_be_had, can_be_late};
pub(crate) use sweep::sweep_and_say;
