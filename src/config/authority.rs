//! Hosts and ports as URLs have them (RFC 3986, section 3.2).
//!
//! Pure; imports nothing of ours. What the configuration lists and what a request names is read by
//! the same eyes.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Host and port as an address bar has them; the host lower-case, without brackets and without
/// the final dot of a rooted name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `host[:port]`. Nothing for what is not the authority of an `http` URL: user names,
    /// empty labels, ports out of range.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (address, after) = rest.split_once(']')?;
            (
                address.parse::<Ipv6Addr>().ok()?.to_string(),
                split_port(after)?,
            )
        } else {
            let (name, after) = text.split_at(text.find(':').unwrap_or(text.len()));
            (plain_name(name)?, split_port(after)?)
        };
        Some(Self { host, port })
    }

    /// The host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, when it names one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether it is this machine under a loopback name.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<Ipv4Addr>()
                .is_ok_and(|ip| ip.is_loopback())
            || self
                .host
                .parse::<Ipv6Addr>()
                .is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// Its port, that of the scheme when it names none.
    pub fn port_under(&self, scheme: Scheme) -> u16 {
        self.port.unwrap_or(scheme.port())
    }
}

/// What stands behind the host: nothing, or a colon and a port, which may be empty (RFC 3986).
#[expect(
    clippy::option_option,
    reason = "no port is as good as a port; a bad one is neither"
)]
fn split_port(after: &str) -> Option<Option<u16>> {
    match after.strip_prefix(':') {
        None => after.is_empty().then_some(None),
        Some("") => Some(None),
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok().map(Some),
        Some(_) => None,
    }
}

fn plain_name(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.split('.')
        .all(label)
        .then(|| name.to_ascii_lowercase())
}

/// How a page was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    /// The scheme of an origin or address, and what stands behind `://`.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let (scheme, rest) = text.split_once("://")?;
        if scheme.eq_ignore_ascii_case("http") {
            return Some((Self::Http, rest));
        }
        scheme
            .eq_ignore_ascii_case("https")
            .then_some((Self::Https, rest))
    }

    /// The port that need not be named.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}
