//! The services that need no ROS, in this program by their names. Each of them builds alone, too.

use hopwatch_kit::Main;

const SERVICES: [(&str, Main); 4] = [
    (hopwatch_ai_mock::IDENTITY.program, hopwatch_ai_mock::main),
    (hopwatch_broadcaster::IDENTITY.program, hopwatch_broadcaster::main),
    (hopwatch_collector::IDENTITY.program, hopwatch_collector::main),
    (hopwatch_web_ui::IDENTITY.program, hopwatch_web_ui::main),
];

/// The service by whose name this program was called.
pub(crate) fn service() -> Option<Main> {
    hopwatch_kit::called(&SERVICES)
}
