//! Logins of browsers: a cookie in place of a header, because `EventSource` cannot send one.
//!
//! Owns the logins and their two routes. A login lives in memory: 256 random bits of which only
//! the hash is kept, bounded in number and age. Imports `config` and `domain`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::{HttpState, answer, host, problem::Problem, request::Admitted};
use crate::{
    config::TokenSpec,
    domain::{Clock, Monotonic},
};

/// The cookie's name.
pub(crate) const COOKIE: &str = "toold_login";
/// How long a login lasts.
const LIFETIME: Duration = Duration::from_hours(12);
/// Most logins at once; one more ends the oldest.
const MOST: usize = 1024;
/// Cookies of our name that are looked at in one request.
const MOST_COOKIES: usize = 4;

#[derive(Debug)]
struct Login {
    token: Arc<TokenSpec>,
    opened: Monotonic,
    /// Ends what was opened with it when it is forgotten.
    ended: DropGuard,
}

/// How long a login lasts, for what was opened with it and goes on.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    ended: CancellationToken,
    until: Instant,
}

impl Lease {
    /// Whether the login is over.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_cancelled() || Instant::now() >= self.until
    }

    /// Returns when the login is over, by its age or because it was ended.
    pub(crate) async fn over(&self) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = sleep_until(self.until) => {}
        }
    }
}

/// The open logins, by the hash of their cookie.
#[derive(Debug)]
pub(crate) struct Logins {
    open: Mutex<HashMap<[u8; 32], Login>>,
    clock: Arc<dyn Clock>,
}

impl Logins {
    /// None yet.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            open: Mutex::default(),
            clock,
        }
    }

    /// Opens a login for the holder of a token and returns the cookie's value.
    ///
    /// # Errors
    /// When the system has no random numbers to give.
    pub(crate) fn open(
        &self,
        token: Arc<TokenSpec>,
    ) -> Result<Zeroizing<String>, getrandom::Error> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(&mut *bytes)?;
        let mut cookie = Zeroizing::new(String::with_capacity(64));
        for nibble in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            cookie.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
        let login = Login {
            token,
            opened: self.clock.monotonic(),
            ended: CancellationToken::new().drop_guard(),
        };
        let mut open = self.lock();
        self.make_room(&mut open);
        open.insert(hash(&cookie), login);
        Ok(cookie)
    }

    /// Who logged in with this cookie, and for how long. Looked up by hash, so its time says
    /// nothing about others.
    pub(crate) fn find(&self, cookie: &str) -> Option<(Arc<TokenSpec>, Lease)> {
        let now = self.clock.monotonic();
        let open = self.lock();
        let login = open.get(&hash(cookie))?;
        let left = LIFETIME.checked_sub(now.since(login.opened))?;
        let lease = Lease {
            ended: login.ended.token().clone(),
            until: Instant::now() + left,
        };
        (!left.is_zero()).then(|| (Arc::clone(&login.token), lease))
    }

    /// Ends a login; whether there was one.
    pub(crate) fn close(&self, cookie: &str) -> bool {
        self.lock().remove(&hash(cookie)).is_some()
    }

    fn make_room(&self, open: &mut HashMap<[u8; 32], Login>) {
        if open.len() < MOST {
            return;
        }
        let now = self.clock.monotonic();
        open.retain(|_, login| now.since(login.opened) < LIFETIME);
        while open.len() >= MOST {
            let oldest = open
                .iter()
                .min_by_key(|(_, login)| login.opened)
                .map(|(hash, _)| *hash);
            let Some(oldest) = oldest else { return };
            open.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Login>> {
        // Nothing panics while the map is half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(cookie: &str) -> [u8; 32] {
    Sha256::digest(cookie.as_bytes()).into()
}

/// The values of our cookie that a request carries.
pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter_map(|(name, value)| (name == COOKIE).then_some(value))
        .take(MOST_COOKIES)
}

/// Body of a login.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginRequest {
    /// A configured token.
    token: String,
}

/// `POST /v1/login`
pub(crate) async fn open(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let body: LoginRequest = request.decode()?;
    let token = Zeroizing::new(body.token);
    let known = state.gate.authenticator.holder_of(&token);
    let known = known.ok_or_else(|| Problem::unauthenticated("the token is not known"))?;
    let cookie = state.gate.authenticator.logins().open(Arc::clone(&known));
    let cookie = cookie.map_err(|error| Problem::internal(&error))?;
    let mut response = answer::object(StatusCode::OK, |w| {
        w.string("principal", &known.name)
            .array("permissions", |list| {
                for permission in known.permissions.iter() {
                    list.string(permission.as_str());
                }
            });
    });
    set_cookie(&mut response, &request, &cookie, LIFETIME);
    Ok(response)
}

/// `DELETE /v1/login`
pub(crate) async fn close(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    for cookie in cookies(request.headers()) {
        state.gate.authenticator.logins().close(cookie);
    }
    let mut response = answer::empty(StatusCode::NO_CONTENT);
    set_cookie(&mut response, &request, "", Duration::ZERO);
    Ok(response)
}

fn set_cookie(response: &mut Response, request: &Admitted, value: &str, lifetime: Duration) {
    let over_tls = request.header(&header::ORIGIN).is_some_and(host::is_secure);
    let text = Zeroizing::new(format!(
        "{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}",
        lifetime.as_secs(),
        if over_tls { "; Secure" } else { "" },
    ));
    if let Ok(mut cookie) = HeaderValue::from_str(&text) {
        cookie.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{config::Permissions, domain::Timestamp};

    #[derive(Debug, Default)]
    struct Hands(AtomicU64);

    impl Clock for Hands {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }
        fn monotonic(&self) -> Monotonic {
            Monotonic::from_origin(Duration::from_secs(self.0.load(Ordering::Relaxed)))
        }
    }

    fn token() -> Arc<TokenSpec> {
        Arc::new(TokenSpec {
            name: "browser".into(),
            sha256: [0; 32],
            permissions: Permissions::default(),
            agents: Vec::new(),
        })
    }

    #[test]
    fn a_login_ends_by_age() {
        let clock = Arc::new(Hands::default());
        let logins = Logins::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let cookie = logins.open(token()).unwrap();
        assert_eq!(cookie.len(), 64);
        clock.0.store(LIFETIME.as_secs() - 1, Ordering::Relaxed);
        assert!(logins.find(&cookie).is_some());
        clock.0.store(LIFETIME.as_secs(), Ordering::Relaxed);
        assert!(logins.find(&cookie).is_none());
    }

    #[test]
    fn one_login_too_many_ends_the_oldest() {
        let clock = Arc::new(Hands::default());
        let logins = Logins::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let first = logins.open(token()).unwrap();
        clock.0.store(1, Ordering::Relaxed);
        let second = logins.open(token()).unwrap();
        for _ in 2..=MOST {
            logins.open(token()).unwrap();
        }
        assert!(logins.find(&first).is_none());
        assert!(logins.find(&second).is_some());
        assert_eq!(logins.lock().len(), MOST);
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("x=1; toold_login=abc;y=2"),
        );
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("toold_login=def; toold_login2=ghi"),
        );
        assert_eq!(cookies(&headers).collect::<Vec<_>>(), ["abc", "def"]);
    }
}
