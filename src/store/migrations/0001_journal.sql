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

-- in the order of ids, which every index ends with
CREATE INDEX events_of_session ON events (session_no) WHERE session_no IS NOT NULL;

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

CREATE UNIQUE INDEX calls_by_id ON calls (session_no, call_id);

CREATE INDEX calls_open ON calls (accepted) WHERE settled IS NULL;

CREATE TABLE documents (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
