//! Who is calling: bearer tokens and login cookies (proto-docs/routes.md).
//!
//! Imports `config` and `domain`. Tokens are compared as SHA-256 in constant time over all of
//! them; none is ever logged, and none is taken from a URL.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{
    access::Caller,
    login::{Logins, cookies},
};
use crate::{config::TokenSpec, domain::Clock};

/// Why nobody is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// Nothing was shown.
    Nothing,
    /// What was shown is not known, or no longer.
    Unknown,
}

/// Knows the configured tokens and the logins made with them.
#[derive(Debug)]
pub(crate) struct Authenticator {
    tokens: Vec<Arc<TokenSpec>>,
    logins: Logins,
}

impl Authenticator {
    /// Knows these tokens; without one it knows nobody.
    pub(crate) fn new(tokens: impl IntoIterator<Item = TokenSpec>, clock: Arc<dyn Clock>) -> Self {
        Self {
            tokens: tokens.into_iter().map(Arc::new).collect(),
            logins: Logins::new(clock),
        }
    }

    /// The logins.
    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Who sent these headers. An `Authorization` header decides alone; a cookie counts only
    /// without one.
    ///
    /// # Errors
    /// [`Stranger`] when nobody is known.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        match (shown.next(), shown.next()) {
            (None, _) => self.by_cookie(headers),
            (Some(only), None) => {
                let token = bearer(only).ok_or(Stranger::Unknown)?;
                let known = self.holder_of(token).ok_or(Stranger::Unknown)?;
                Ok(Caller::new(known))
            }
            (Some(_), Some(_)) => Err(Stranger::Unknown),
        }
    }

    /// The configured token with this text. All of them are compared, whichever fits.
    pub(crate) fn holder_of(&self, text: &str) -> Option<Arc<TokenSpec>> {
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let mut found = None;
        for token in &self.tokens {
            if bool::from(token.sha256.ct_eq(&hash)) {
                found = Some(Arc::clone(token));
            }
        }
        found
    }

    fn by_cookie(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        let mut stranger = Stranger::Nothing;
        for cookie in cookies(headers) {
            if let Some((token, lease)) = self.logins.find(cookie) {
                return Ok(Caller::logged_in(token, lease));
            }
            stranger = Stranger::Unknown;
        }
        Err(stranger)
    }
}

/// The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme in any case).
fn bearer(header: &HeaderValue) -> Option<&str> {
    credentials(header, "bearer")
}

/// Whether a header is `Authorization: Execution <token>`.
pub(crate) fn shows_execution(headers: &HeaderMap) -> bool {
    let header = headers.get(header::AUTHORIZATION);
    header.is_some_and(|header| credentials(header, "execution").is_some())
}

fn credentials<'h>(header: &'h HeaderValue, scheme: &str) -> Option<&'h str> {
    let (named, token) = header.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (named.eq_ignore_ascii_case(scheme) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Permissions, domain::SystemClock, http::access::Credential};

    fn spec(name: &str, token: &str) -> TokenSpec {
        TokenSpec {
            name: name.into(),
            sha256: Sha256::digest(token.as_bytes()).into(),
            permissions: Permissions::default(),
            agents: Vec::new(),
        }
    }

    fn known() -> Authenticator {
        let tokens = [spec("one", "secret-1"), spec("two", "secret-2")];
        Authenticator::new(tokens, Arc::new(SystemClock::new()))
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn who(pairs: &[(&'static str, &str)]) -> Result<String, Stranger> {
        known()
            .identify(&headers(pairs))
            .map(|caller| caller.principal().to_string())
    }

    #[test]
    fn a_token_is_known_by_its_hash_and_names_its_principal() {
        assert_eq!(
            who(&[("authorization", "Bearer secret-1")]),
            Ok("one".to_owned())
        );
        assert_eq!(
            who(&[("authorization", "bEARER   secret-2 ")]),
            Ok("two".to_owned())
        );
    }

    #[test]
    fn anything_else_is_a_stranger() {
        assert_eq!(who(&[]), Err(Stranger::Nothing));
        for shown in [
            "Bearer secret-3",
            "Bearer",
            "Bearer ",
            "secret-1",
            "Basic secret-1",
            "Execution secret-1",
        ] {
            assert_eq!(
                who(&[("authorization", shown)]),
                Err(Stranger::Unknown),
                "{shown}"
            );
        }
        let twice = [
            ("authorization", "Bearer secret-1"),
            ("authorization", "Bearer secret-1"),
        ];
        assert_eq!(
            who(&twice),
            Err(Stranger::Unknown),
            "two headers are one too many"
        );
    }

    #[test]
    fn a_cookie_counts_only_without_an_authorization_header() {
        let known = known();
        let token = known.holder_of("secret-2").unwrap();
        let cookie = known.logins().open(token).unwrap();
        let pair = format!("a=b; toold_login={}", cookie.as_str());
        let caller = known.identify(&headers(&[("cookie", &pair)])).unwrap();
        assert_eq!(
            (&*caller.principal(), caller.credential()),
            ("two", Credential::Cookie)
        );
        let both = headers(&[("cookie", &pair), ("authorization", "Bearer wrong")]);
        assert!(known.identify(&both).is_err());
        assert!(known.logins().close(&cookie));
        let after = known.identify(&headers(&[("cookie", &pair)]));
        assert_eq!(after.err(), Some(Stranger::Unknown));
    }

    #[test]
    fn without_a_configured_token_nobody_is_known() {
        let nobody = Authenticator::new([], Arc::new(SystemClock::new()));
        assert!(
            nobody
                .identify(&headers(&[("authorization", "Bearer ")]))
                .is_err()
        );
        assert!(nobody.holder_of("").is_none());
    }

    #[test]
    fn an_execution_is_recognised_by_its_scheme_alone() {
        assert!(shows_execution(&headers(&[(
            "authorization",
            "Execution tx_1"
        )])));
        assert!(!shows_execution(&headers(&[(
            "authorization",
            "Bearer tx_1"
        )])));
    }
}
