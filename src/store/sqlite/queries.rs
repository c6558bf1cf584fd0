//! Questions of which the answer is partly in the lookup tables, partly at the end of the log.
//!
//! Owns their SQL: each is asked of both parts at once, in the order of ids. What the parts are is
//! told in the schema and in [`super::backlog`].

use super::rows::{CALL, EVENT};

/// The newest event that the lookup tables cover.
const INDEXED: &str = "(SELECT value FROM meta WHERE key = 'indexed')";
/// The number of session ?1.
const NUMBER: &str = "(SELECT no FROM sessions WHERE session_id = ?1)";
/// What rows of events and calls are joined with.
const OF_EVENT: &str = "LEFT JOIN sessions s ON s.no = e.session_no";
const OF_CALL: &str = "JOIN sessions s ON s.no = c.session_no";
/// Whether nested calls are shown.
const SHOWN: &str = "(?4 OR c.parent IS NULL)";
/// Whether only settled or only open calls are.
const SETTLED: &str = "(?5 IS NULL OR (c.settled IS NOT NULL) = ?5)";

/// Events of session ?1 after ?2, at most ?3.
pub(super) fn events_of_session() -> String {
    format!(
        "SELECT x.id, {EVENT} FROM session_events x CROSS JOIN events e {OF_EVENT}
         WHERE x.session_no = {NUMBER} AND x.id > ?2 AND e.id = x.id
         UNION ALL
         SELECT e.id, {EVENT} FROM events e {OF_EVENT}
         WHERE e.id > max(?2, {INDEXED}) AND e.session_no = {NUMBER}
         ORDER BY 1 LIMIT ?3"
    )
}

/// Oldest and newest event of session ?1, and the newest that was removed.
pub(super) fn bounds_of_session() -> String {
    format!(
        "SELECT coalesce(
             (SELECT min(id) FROM session_events WHERE session_no = s.no),
             (SELECT id FROM events WHERE id > {INDEXED} AND session_no = s.no
              ORDER BY id LIMIT 1)),
         coalesce(
             (SELECT id FROM events WHERE id > {INDEXED} AND session_no = s.no
              ORDER BY id DESC LIMIT 1),
             (SELECT max(id) FROM session_events WHERE session_no = s.no)),
         s.pruned
         FROM sessions s WHERE s.session_id = ?"
    )
}

/// Call ?2 of session ?1.
pub(super) fn call() -> String {
    format!(
        "SELECT c.accepted, {CALL} FROM call_ids x CROSS JOIN calls c {OF_CALL}
         WHERE x.session_no = {NUMBER} AND x.call_id = ?2 AND c.accepted = x.accepted
         UNION ALL
         SELECT c.accepted, {CALL} FROM calls c {OF_CALL}
         WHERE c.accepted > {INDEXED} AND c.session_no = {NUMBER} AND c.call_id = ?2"
    )
}

/// Calls of session ?1 after ?2, at most ?3; ?4 with nested ones, ?5 settled or not. The session's
/// events lead to them in their order.
pub(super) fn calls() -> String {
    format!(
        "SELECT x.id, {CALL} FROM session_events x CROSS JOIN calls c {OF_CALL}
         WHERE x.session_no = {NUMBER} AND x.id > ?2 AND c.accepted = x.id
         AND {SHOWN} AND {SETTLED}
         UNION ALL
         SELECT c.accepted, {CALL} FROM calls c {OF_CALL}
         WHERE c.accepted > max(?2, {INDEXED}) AND c.session_no = {NUMBER}
         AND {SHOWN} AND {SETTLED}
         ORDER BY 1 LIMIT ?3"
    )
}

/// Calls of session ?1 without a result, after ?2, at most ?3; ?4 with nested ones.
pub(super) fn open_calls_of_session() -> String {
    format!(
        "SELECT o.accepted, {CALL} FROM open_calls o CROSS JOIN calls c {OF_CALL}
         WHERE o.accepted > ?2 AND c.accepted = o.accepted
           AND c.session_no = {NUMBER} AND {SHOWN}
         UNION ALL
         SELECT c.accepted, {CALL} FROM calls c {OF_CALL}
         WHERE c.accepted > max(?2, {INDEXED}) AND c.settled IS NULL
         AND c.session_no = {NUMBER} AND {SHOWN}
         ORDER BY 1 LIMIT ?3"
    )
}

/// Calls without a result after ?1, at most ?2.
pub(super) fn open_calls() -> String {
    format!(
        "SELECT o.accepted, {CALL} FROM open_calls o CROSS JOIN calls c {OF_CALL}
         WHERE o.accepted > ?1 AND c.accepted = o.accepted
         UNION ALL
         SELECT c.accepted, {CALL} FROM calls c {OF_CALL}
         WHERE c.accepted > max(?1, {INDEXED}) AND c.settled IS NULL
         ORDER BY 1 LIMIT ?2"
    )
}
