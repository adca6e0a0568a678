//! Certificates for tests and benches, in files.

use hopwatch_kit::tls::{ServerTls, Trust};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A CA and what it issues.
pub(crate) struct Lab {
    ca: Issuer<'static, KeyPair>,
    folder: TempDir,
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Lab {
    pub(crate) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let folder = tempfile::tempdir().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        std::fs::write(folder.path().join("ca.pem"), pem).unwrap();
        Self { ca: Issuer::new(params, key), folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Believes this CA.
    pub(crate) fn trust(&self) -> Trust {
        Trust::load(self.file("ca.pem").to_str().unwrap()).unwrap()
    }

    /// A certificate for these names that was good from so many hours ago until in so many.
    pub(crate) fn issue(&self, hosts: &[&str], ago: u64, until: i64) -> ServerTls {
        let key = KeyPair::generate().unwrap();
        let mut params = named("its host", hosts);
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let now = SystemTime::now();
        let end = hours(until.unsigned_abs());
        params.not_before = (now - hours(ago)).into();
        params.not_after = if until < 0 { now - end } else { now + end }.into();
        let pem = params.signed_by(&key, &self.ca).unwrap().pem();
        let (cert, secret) = (self.file("host.pem"), self.file("host-key.pem"));
        std::fs::write(&cert, pem).unwrap();
        std::fs::write(&secret, key.serialize_pem()).unwrap();
        ServerTls::load(cert.to_str().unwrap(), secret.to_str().unwrap()).unwrap().unwrap()
    }
}
