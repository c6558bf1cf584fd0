//! Who may knock: the judgement of `Host` and `Origin` (proto-docs/routes.md).
//!
//! Pure: texts in, verdicts out. Imports `config` for what an authority is. A page in a browser cannot forge these
//! two headers, so they keep foreign pages and rebound names away from a daemon on loopback.

use crate::config::{Authority, Scheme};

/// The hosts and origins that are let in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door {
    hosts: Vec<Authority>,
    origins: Vec<String>,
}

/// What an `Origin` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OriginVerdict {
    /// A page that may talk to this daemon.
    Welcome,
    /// Any other page, `null` included.
    Foreign,
}

impl Door {
    /// Lets in loopback names and these. A configured host without a port stands for every port;
    /// one that is no authority lets nothing in.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: hosts
                .iter()
                .filter_map(|host| Authority::parse(host))
                .collect(),
            origins: origins.iter().map(|origin| same_text(origin)).collect(),
        }
    }

    /// The authority that a request names, when it may be named.
    pub(crate) fn admit(&self, host: &str) -> Option<Authority> {
        let named = Authority::parse(host)?;
        let listed = self.hosts.iter().any(|allowed| {
            allowed.host() == named.host()
                && (allowed.port().is_none() || allowed.port() == named.port())
        });
        (listed || named.is_loopback()).then_some(named)
    }

    /// Judges an `Origin` that is present, for a request to `host`. Same-origin means the same
    /// host and port; the scheme may be `https`, as behind a proxy that ends TLS.
    pub(crate) fn judge_origin(&self, origin: &str, host: Option<&Authority>) -> OriginVerdict {
        let same = host.is_some_and(|host| is_same_origin(origin, host));
        if same
            || self
                .origins
                .iter()
                .any(|allowed| *allowed == same_text(origin))
        {
            OriginVerdict::Welcome
        } else {
            OriginVerdict::Foreign
        }
    }

    /// The configured origins, as CORS may name them.
    pub(crate) fn origins(&self) -> &[String] {
        &self.origins
    }
}

/// Whether an origin is that of a page served over TLS.
pub(crate) fn is_secure(origin: &str) -> bool {
    Scheme::split(origin).is_some_and(|(scheme, _)| scheme == Scheme::Https)
}

fn is_same_origin(origin: &str, host: &Authority) -> bool {
    let Some((scheme, rest)) = Scheme::split(origin) else {
        return false;
    };
    Authority::parse(rest).is_some_and(|page| {
        page.host() == host.host() && page.port_under(scheme) == host.port_under(scheme)
    })
}

/// Browsers write origins in lower case and without a final slash; people do not always.
fn same_text(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn door() -> Door {
        Door::new(
            &["toold.example".to_owned(), "proxy.example:8443".to_owned()],
            &["https://Console.example/".to_owned()],
        )
    }

    #[test]
    fn c22_hosts_that_are_let_in() {
        for host in [
            "localhost",
            "localhost:7878",
            "LOCALHOST.",
            "LocalHost.:7878",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.8.9.10:65535",
            "[::1]",
            "[::1]:7878",
            "[0:0:0:0:0:0:0:1]:7878",
            "[::ffff:127.0.0.1]",
            "localhost:",
            "toold.example",
            "TOOLD.example.:443",
            "proxy.example:8443",
        ] {
            assert!(door().admit(host).is_some(), "{host} was refused");
        }
    }

    #[test]
    fn c22_hosts_that_are_refused() {
        for host in [
            "",
            ".",
            "evil.example:7878",
            "localhost.evil.example",
            "evil.localhost",
            "localhost..",
            "localhost@evil.example",
            "localhost:7878@evil.example",
            "localhost/evil",
            "localhost#",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "0.0.0.0",
            "128.0.0.1",
            "[::1",
            "::1",
            "[::1]x",
            "[::2]",
            "[fe80::1%25lo]",
            "localhost:x",
            "localhost:65536",
            "localhost:-1",
            "proxy.example",
            "proxy.example:443",
            "localhost ",
            "localhost,evil.example",
            "lоcalhost", // a Cyrillic letter
        ] {
            assert!(door().admit(host).is_none(), "{host:?} was let in");
        }
    }

    #[test]
    fn c22_origins() {
        let host = door().admit("localhost:7878").unwrap();
        let named = door().admit("toold.example").unwrap();
        for (origin, host, want) in [
            ("http://localhost:7878", &host, OriginVerdict::Welcome),
            ("HTTP://LOCALHOST.:7878", &host, OriginVerdict::Welcome),
            ("https://toold.example", &named, OriginVerdict::Welcome),
            ("http://toold.example:80", &named, OriginVerdict::Welcome),
            ("https://console.example", &host, OriginVerdict::Welcome),
            ("null", &host, OriginVerdict::Foreign),
            ("", &host, OriginVerdict::Foreign),
            ("http://localhost", &host, OriginVerdict::Foreign),
            ("http://localhost:7879", &host, OriginVerdict::Foreign),
            ("http://127.0.0.1:7878", &host, OriginVerdict::Foreign),
            (
                "http://localhost.evil.example",
                &host,
                OriginVerdict::Foreign,
            ),
            (
                "http://localhost:7878.evil.example",
                &host,
                OriginVerdict::Foreign,
            ),
            ("http://localhost:7878/", &host, OriginVerdict::Foreign),
            ("http://evil@localhost:7878", &host, OriginVerdict::Foreign),
            ("file://", &host, OriginVerdict::Foreign),
            ("http://console.example", &host, OriginVerdict::Foreign),
            (
                "https://console.example.evil",
                &host,
                OriginVerdict::Foreign,
            ),
        ] {
            assert_eq!(door().judge_origin(origin, Some(host)), want, "{origin}");
        }
        assert_eq!(
            door().judge_origin("http://localhost:7878", None),
            OriginVerdict::Foreign
        );
    }

    #[test]
    fn only_https_origins_count_as_secure() {
        assert!(is_secure("https://a"));
        assert!(!is_secure("http://a") && !is_secure("null"));
    }

    proptest! {
        #[test]
        fn nothing_but_a_loopback_name_is_let_in_unconfigured(host in "[a-z0-9.:\\[\\]@-]{0,24}") {
            if let Some(named) = Door::default().admit(&host) {
                prop_assert!(named.is_loopback());
                let start = host.to_ascii_lowercase();
                prop_assert!(
                    ["localhost", "127.", "[::1]", "[::ffff:127.", "[::ffff:7f", "[0"]
                        .iter()
                        .any(|prefix| start.starts_with(prefix)),
                    "{host}"
                );
            }
        }
    }
}
