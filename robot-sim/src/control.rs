//! What can be set while the robots publish: their rate, and the size of their messages.

use crate::config::{Config, MOST_BYTES, Rate};
use hopwatch_kit::Shutdown;
use hopwatch_kit::app::App;
use hopwatch_kit::controls::{self, NotSet};
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use hopwatch_kit::tls::ServerTls;
use hopwatch_wire::controls::RobotSettings;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the robots are to do from now on. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(Arc<Mutex<(Rate, u32)>>);

impl Wanted {
    /// What the configuration says.
    pub(crate) fn new(config: &Config) -> Self {
        Self(Arc::new(Mutex::new((config.rate, config.payload_bytes))))
    }

    fn both(&self) -> MutexGuard<'_, (Rate, u32)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn rate(&self) -> Rate {
        self.both().0
    }

    /// Of topics without one of their own.
    pub(crate) fn payload_bytes(&self) -> usize {
        usize::try_from(self.both().1).unwrap_or(usize::MAX)
    }

    /// Serves it on `address` until `end` begins, and tells where.
    pub(crate) async fn serve(
        &self,
        address: SocketAddr,
        tls: Option<ServerTls>,
        origins: &str,
        end: Shutdown,
    ) -> anyhow::Result<()> {
        let token = Token::from_environment()?;
        let listener = net::bind(address, &token).await?;
        let origins = AllowedOrigins::parse(origins);
        let routes = controls::settings(Arc::new(self.clone()), token, origins.clone());
        let app = App::from(routes).listing(origins);
        net::announce("robot-sim", &listener)?;
        tokio::spawn(net::serve_by(tls, listener, app, end));
        Ok(())
    }
}

impl controls::Settings for Wanted {
    type Value = RobotSettings;

    fn now(&self) -> RobotSettings {
        let (rate, payload_bytes) = *self.both();
        RobotSettings { rate_hz: rate.hz(), payload_bytes }
    }

    async fn set(&self, wanted: RobotSettings) -> Result<(), NotSet> {
        let RobotSettings { rate_hz, payload_bytes } = wanted;
        let rate =
            Rate::try_from(rate_hz).map_err(|why| NotSet::Refused(format!("rate_hz: {why}")))?;
        if payload_bytes > MOST_BYTES {
            let why = format!("payload_bytes must be at most {MOST_BYTES}, not {payload_bytes}");
            return Err(NotSet::Refused(why));
        }
        *self.both() = (rate, payload_bytes);
        tracing::info!(rate_hz, payload_bytes, "rate and payload were set");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_kit::controls::Settings;

    #[tokio::test]
    async fn both_are_set_or_none() {
        let wanted = Wanted::new(&Config::default());
        let good = RobotSettings { rate_hz: 12.5, payload_bytes: MOST_BYTES };
        assert_eq!(wanted.set(good).await, Ok(()));
        for (rate_hz, payload_bytes, said) in [
            (0.0, 1, "rate_hz: a rate is above 0 and at most 100000 Hz, not 0"),
            (-1.0, 1, "not -1"),
            (100_001.0, 1, "not 100001"),
            (f64::NAN, 1, "not NaN"),
            (1.0, MOST_BYTES + 1, "payload_bytes must be at most 4000000, not 4000001"),
        ] {
            let Err(NotSet::Refused(why)) =
                wanted.set(RobotSettings { rate_hz, payload_bytes }).await
            else {
                panic!("{rate_hz} {payload_bytes} was not refused");
            };
            assert!(why.contains(said), "{why}");
            assert_eq!(wanted.now(), good);
        }
    }
}
