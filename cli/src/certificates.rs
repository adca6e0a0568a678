//! `hopwatch certificates`: a CA of one's own, and a certificate for each host.
//!
//! Whoever has `ca-key.pem` can be any host: it stays where it was made. The CA's name is made of
//! its key, so that the key is all that is needed to make further hosts' certificates.

use crate::args::{Certificates, Usage};
use anyhow::{Context, bail};
use hopwatch_kit::service::exit;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(86_400);
/// How long the CA itself is good for: ten years.
const CA_DAYS: u32 = 3650;
/// Hosts' clocks may be behind by so much: a robot without a battery for its clock is.
const BACKDATED: Duration = DAY;

/// The names of one host, the first of which its files are called by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    names: Vec<String>,
}

impl std::str::FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        for name in &names {
            if !is_host(name) {
                return Err(format!(
                    "{name:?} is no host: write a DNS name or an IP address, with commas between \
                     several of one host"
                ));
            }
        }
        if names.first().is_some_and(|name| name == "ca") {
            return Err("the CA's own files are called ca: give another name first".to_owned());
        }
        if let Some(first) = names.first().filter(|name| name.ends_with("-key")) {
            let why = format!("{first} would be named as a key is: give another name first");
            return Err(why);
        }
        Ok(Self { names })
    }
}

fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.parse::<IpAddr>().is_ok() || name.len() <= 253 && name.split('.').all(is_label)
}

/// Makes what is missing in the folder.
pub(crate) fn run(wanted: &Certificates) -> anyhow::Result<u8> {
    let folder = &wanted.out;
    fs::create_dir_all(folder)
        .map_err(|error| Usage(format!("failed to make {}: {error}", folder.display())))?;
    let ca = authority(folder)?;
    for host in &wanted.hosts {
        let Some(first) = host.names.first() else { continue };
        let (certificate, key) = issue(&ca, host, wanted.days)?;
        // The CA's own certificate isn't needed: whoever believes it has it.
        publish(&folder.join(format!("{first}.pem")), &certificate)?;
        keep_secret(&folder.join(format!("{first}-key.pem")), &key)?;
        tell_made(&format!(
            "{first}.pem, {first}-key.pem: for {}, {} days",
            host.names.join(", "),
            wanted.days
        ))?;
    }
    Ok(exit::OK)
}

fn tell_made(what: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{what}").context("failed to print")
}

type Authority = Issuer<'static, KeyPair>;

/// The CA in the folder; a new one, if there is none.
fn authority(folder: &Path) -> anyhow::Result<Authority> {
    let (public, secret) = (folder.join("ca.pem"), folder.join("ca-key.pem"));
    let key = match fs::read_to_string(&secret) {
        Ok(pem) => KeyPair::from_pem(&pem)
            .with_context(|| format!("failed to read the key in {}", secret.display()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if public.exists() {
                bail!(Usage(format!(
                    "{} is there without ca-key.pem, and can't issue anything: choose another \
                     --out, or put the key back",
                    public.display()
                )));
            }
            let key = KeyPair::generate().context("failed to make a key")?;
            keep_secret(&secret, &key.serialize_pem())?;
            key
        }
        Err(error) => bail!(Usage(format!("failed to read {}: {error}", secret.display()))),
    };
    let params = ca_params(&key);
    if !public.exists() {
        let certificate = params.self_signed(&key).context("failed to make the CA")?;
        publish(&public, &certificate.pem())?;
        tell_made(&format!(
            "ca.pem: the CA, for every host; ca-key.pem stays here ({CA_DAYS} days)"
        ))?;
    }
    Ok(Issuer::new(params, key))
}

fn ca_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    let id = params.key_identifier(key);
    let id = id.first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("Hopwatch lab CA {id:08x}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_for(&mut params, CA_DAYS);
    params
}

/// A host's certificate and its key.
fn issue(ca: &Authority, host: &Host, days: u32) -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate().context("failed to make a key")?;
    let names = host.names.clone();
    let mut params = CertificateParams::new(names).context("failed to make a certificate")?;
    params.distinguished_name = DistinguishedName::new();
    let first = host.names.first().cloned().unwrap_or_default();
    // A common name has 64 characters at most (RFC 5280, upper bounds).
    params.distinguished_name.push(DnType::CommonName, first.chars().take(64).collect::<String>());
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    valid_for(&mut params, days);
    let certificate = params.signed_by(&key, ca).context("failed to sign a certificate")?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn valid_for(params: &mut CertificateParams, days: u32) {
    let now = SystemTime::now();
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + DAY * days).into();
}

fn publish(path: &PathBuf, pem: &str) -> anyhow::Result<()> {
    write(path, pem, 0o644)
}

fn keep_secret(path: &PathBuf, pem: &str) -> anyhow::Result<()> {
    write(path, pem, 0o600)
}

/// A file with these rights from its first moment, in the place of the one before.
fn write(path: &PathBuf, text: &str, mode: u32) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    let _left_over = fs::remove_file(&new);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&new, path));
    written.with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn make(folder: &Path, hosts: &[&str]) {
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let wanted = Certificates { hosts, out: folder.to_owned(), days: 7 };
        assert_eq!(run(&wanted).unwrap(), exit::OK);
    }

    #[test]
    fn keys_are_secret_and_a_ca_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), &["gateway,10.78.0.2"]);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (ca, first) = (read("ca.pem"), read("gateway.pem"));
        make(folder.path(), &["ai", "gateway,10.78.0.2"]);
        assert_eq!(read("ca.pem"), ca, "the CA was made anew");
        assert_ne!(read("gateway.pem"), first, "the certificate was not renewed");
        for (name, mode) in [
            ("ca-key.pem", 0o600),
            ("gateway-key.pem", 0o600),
            ("ai-key.pem", 0o600),
            ("ca.pem", 0o644),
        ] {
            let file = fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn a_ca_without_its_key_is_no_use() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), "").unwrap();
        let wanted = Certificates { hosts: Vec::new(), out: folder.path().to_owned(), days: 7 };
        let why = run(&wanted).unwrap_err().to_string();
        assert!(why.contains("ca-key.pem") && why.contains("--out"), "{why}");
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for good in ["ai", "ai.lab.example,10.0.0.2", "::1", "10.0.0.1"] {
            assert!(good.parse::<Host>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "ca",
            "ca-key",
            "x-key",
            "a b",
            "../x",
            "ai,",
            "https://ai",
            "ai:5000",
            "10.0.0.1/24",
        ] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
    }
}
