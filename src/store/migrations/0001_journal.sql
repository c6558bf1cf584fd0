-- The journal. Every row of `events` is the encoding that readers get, with what is needed to find
-- it; the other tables are what the daemon must look up without reading events.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    no              INTEGER PRIMARY KEY,  -- id of the event that opened it: grows, is never reused
    session_id      TEXT NOT NULL UNIQUE,
    agent           TEXT NOT NULL,
    workspace       BLOB NOT NULL,        -- a path: bytes
    approval_policy TEXT NOT NULL,
    metadata        TEXT NOT NULL,        -- a JSON object
    principal       TEXT NOT NULL,
    created_at      INTEGER NOT NULL,     -- microseconds since the epoch, like every time here
    ended_at        INTEGER,
    pruned          INTEGER NOT NULL DEFAULT 0  -- newest of its events that retention removed
) STRICT;

CREATE INDEX sessions_of_agent ON sessions (agent);

CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    session_no  INTEGER,
    seq         INTEGER,
    type        TEXT NOT NULL,
    agent       TEXT,
    time        INTEGER NOT NULL,
    envelope_at INTEGER NOT NULL,         -- where the envelope and the data begin in the frame
    data_at     INTEGER NOT NULL,
    frame       BLOB NOT NULL
) STRICT;

CREATE TABLE calls (
    accepted     INTEGER PRIMARY KEY,     -- id of its tool/call
    session_no   INTEGER NOT NULL,
    call_id      TEXT NOT NULL,
    root_call_id TEXT,                    -- none for a top-level call: its own
    execution    BLOB NOT NULL,
    parent       BLOB,
    name         TEXT NOT NULL,
    digest       BLOB NOT NULL,
    turn         INTEGER,                 -- 64 bits, the sign bit included
    step         INTEGER,
    principal    TEXT NOT NULL,
    started      INTEGER,
    settled      INTEGER
) STRICT;

-- From a session to its events, from a call's id to its row, and the calls without a result. One
-- append would touch a page of each of these, and one for each session; they are written many
-- entries at a time instead, up to the event `meta.indexed`. What is newer is found at the end of
-- the log, so a call that ends soon is never among the open ones.
CREATE TABLE session_events (
    session_no INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    PRIMARY KEY (session_no, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_ids (
    session_no INTEGER NOT NULL,
    call_id    TEXT NOT NULL,
    accepted   INTEGER NOT NULL,
    PRIMARY KEY (session_no, call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE open_calls (
    accepted INTEGER PRIMARY KEY
) STRICT;

INSERT INTO meta VALUES ('indexed', 0);

CREATE TABLE documents (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
