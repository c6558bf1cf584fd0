//! Opening, changing, cancelling and ending sessions.

use std::{path::PathBuf, sync::Arc};

use super::{
    Error, NewSession, Scheduler, SessionState, WIDTH, observations::Observations, session::Session,
};
use crate::{
    domain::{ApprovalPolicy, EventDraft, EventType, Json, SessionId, Subject, Workspace},
    journal::{Append, Committed, Refusal, SessionQuery, SessionRow, Write},
};

impl Scheduler {
    /// Opens a session; durable when it returns.
    ///
    /// # Errors
    /// [`Error::UnknownAgent`], [`Error::Workspace`], [`Error::SessionExists`],
    /// [`Error::Draining`], [`Error::Store`].
    pub async fn open_session(&self, new: NewSession) -> Result<SessionRow, Error> {
        let this = self.clone();
        self.owned(async move { this.open(new).await }).await
    }

    async fn open(&self, new: NewSession) -> Result<SessionRow, Error> {
        if self.draining() {
            return Err(Error::Draining);
        }
        let parts = &self.0.parts;
        if new.agent.is_global() || parts.registry.agent(&new.agent).is_none() {
            return Err(Error::UnknownAgent);
        }
        let row = SessionRow {
            id: new
                .id
                .unwrap_or_else(|| SessionId::from_uuid(parts.ids.uuid())),
            agent: new.agent,
            workspace: self.workspace(new.workspace).await?,
            approval_policy: new.approval_policy.unwrap_or_default(),
            metadata: new.metadata,
            principal: new.principal,
            created_at: parts.clock.now(),
            ended_at: None,
        };
        let event = session_event(EventType::SessionStart, &row);
        let append = Append::one(Write::OpenSession(Box::new(row.clone())), event);
        match parts.journal.append(append).await? {
            Committed::Done(_) => {}
            Committed::Refused(_) => return Err(Error::SessionExists),
        }
        let width = self.width_of(&row);
        self.0
            .sessions
            .insert(Session::new(row.clone(), width, Observations::none()));
        Ok(row)
    }

    /// A session as it stands, shared.
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::Store`].
    pub async fn session(&self, id: &SessionId) -> Result<Arc<SessionRow>, Error> {
        match self.0.sessions.get(id) {
            Some(session) => Ok(session.row.load_full()),
            None => Ok(Arc::new(self.stored_session(id).await?)),
        }
    }

    /// Sessions, newest first, each with the cursor behind it.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<(u64, SessionRow)>, Error> {
        Ok(self.0.parts.journal.store().sessions(query).await?)
    }

    /// Tightens a session's approval policy.
    ///
    /// # Errors
    /// [`Error::PolicyLoosened`], [`Error::SessionEnded`], [`Error::UnknownSession`],
    /// [`Error::Store`].
    pub async fn update_session(
        &self,
        id: &SessionId,
        policy: ApprovalPolicy,
    ) -> Result<SessionRow, Error> {
        let (this, id) = (self.clone(), id.clone());
        self.owned(async move { this.update(&id, policy).await })
            .await
    }

    async fn update(&self, id: &SessionId, policy: ApprovalPolicy) -> Result<SessionRow, Error> {
        let session = self.load(id).await?;
        let _turn = session.turn.acquire().await;
        let mut row = SessionRow::clone(&session.row.load());
        if row.ended_at.is_some() {
            return Err(Error::SessionEnded);
        }
        if policy < row.approval_policy {
            return Err(Error::PolicyLoosened);
        }
        row.approval_policy = policy;
        let event = session_event(EventType::SessionUpdated, &row);
        let append = Append::one(Write::UpdateSession(Box::new(row.clone())), event);
        match self.0.parts.journal.append(append).await? {
            Committed::Done(_) => {
                session.row.store(Arc::new(row.clone()));
                Ok(row)
            }
            Committed::Refused(refusal) => Err(refused(&refusal)),
        }
    }

    /// Asks every call of a session to stop. How many there were.
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::Store`].
    pub async fn cancel_session(
        &self,
        id: &SessionId,
        reason: Option<String>,
    ) -> Result<usize, Error> {
        let live = self.load(id).await?.live();
        let top_level = live.iter().filter(|entry| entry.execution.is_top_level());
        let cancelled = top_level
            .inspect(|entry| entry.cancel(reason.clone()))
            .count();
        Ok(cancelled)
    }

    /// Where a session stands: [`SessionState::Ending`] from the moment that its end is asked for
    /// until it is recorded.
    pub fn session_state(&self, row: &SessionRow) -> SessionState {
        if row.ended_at.is_some() {
            return SessionState::Ended;
        }
        let live = self.0.sessions.get(&row.id);
        if live.is_some_and(|session| session.is_closed()) {
            SessionState::Ending
        } else {
            SessionState::Open
        }
    }

    /// Ends a session: takes no more calls, cancels what runs, waits until it is at rest, ends the
    /// log. Whoever asks again meanwhile waits for the same end.
    ///
    /// Unbounded: a body that ignores its signal is waited for. Once begun, it goes on to its end
    /// whether or not anybody waits for it; if the daemon ends before, the session is open again.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] when it had ended before, [`Error::UnknownSession`],
    /// [`Error::Store`].
    pub async fn end_session(&self, id: &SessionId) -> Result<SessionRow, Error> {
        let (this, id) = (self.clone(), id.clone());
        self.owned(async move { this.end(&id).await }).await
    }

    /// Work that belongs to the daemon, not to the connection that waits for it: what is recorded
    /// and what is kept in memory change together.
    async fn owned<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.0
            .parts
            .tasks
            .spawn(work)
            .await
            .unwrap_or(Err(Error::Faulted))
    }

    async fn end(&self, id: &SessionId) -> Result<SessionRow, Error> {
        let session = self.load(id).await?;
        if session.row.load().ended_at.is_some() {
            return Err(Error::SessionEnded);
        }
        let _turn = loop {
            session.close();
            for entry in session.live() {
                entry.cancel(Some("the session was ended".to_owned()));
            }
            session.quiet().await;
            let turn = session.turn.acquire().await;
            // Another end that failed may have opened it again.
            if session.is_closed() && session.is_idle() {
                break turn;
            }
        };
        let mut row = SessionRow::clone(&session.row.load());
        if row.ended_at.is_some() {
            // Ended while this one waited, by another that was asked.
            return Ok(row);
        }
        let at = self.0.parts.clock.now();
        row.ended_at = Some(at);
        let event = session_event(EventType::SessionEnd, &row);
        let append = Append::one(Write::EndSession(id.clone(), at), event);
        match self.0.parts.journal.append(append).await {
            Ok(Committed::Done(_)) => {
                session.row.store(Arc::new(row.clone()));
                Ok(row)
            }
            Ok(Committed::Refused(refusal)) => Err(refused(&refusal)),
            Err(error) => {
                session.reopen();
                Err(error.into())
            }
        }
    }

    /// The live session of an id, from memory or from the store.
    pub(super) async fn load(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        if let Some(session) = self.0.sessions.get(id) {
            return Ok(session);
        }
        let row = self.stored_session(id).await?;
        let width = self.width_of(&row);
        Ok(self
            .0
            .sessions
            .insert(Session::new(row, width, Observations::unknown())))
    }

    async fn stored_session(&self, id: &SessionId) -> Result<SessionRow, Error> {
        self.0
            .parts
            .journal
            .store()
            .session(id)
            .await?
            .ok_or(Error::UnknownSession)
    }

    pub(super) fn width_of(&self, row: &SessionRow) -> usize {
        let agent = self.0.parts.registry.agent(&row.agent);
        agent
            .and_then(|agent| agent.max_parallel())
            .unwrap_or(WIDTH)
    }

    /// Finds the session's directory under the root. Judged by components of the resolved path;
    /// the file tools judge again on every descriptor.
    async fn workspace(&self, named: Option<String>) -> Result<Workspace, Error> {
        let Some(named) = named else {
            return Ok(Workspace::default());
        };
        if named.contains('\0') {
            return Err(Error::Workspace("must not hold a NUL character".to_owned()));
        }
        let root = self.0.parts.settings.workspace_root.clone();
        let found = self
            .0
            .parts
            .tasks
            .blocking(move || inside(&root, &named))
            .await;
        found
            .unwrap_or_else(|_| Err("could not be resolved".to_owned()))
            .map_err(Error::Workspace)
    }
}

fn inside(root: &std::path::Path, named: &str) -> Result<Workspace, String> {
    let shown: String = named.chars().take(200).collect();
    let resolved: PathBuf = root
        .join(named)
        .canonicalize()
        .map_err(|_| format!("{shown:?} is not a directory inside the workspace root"))?;
    let relative = resolved
        .strip_prefix(root)
        .map_err(|_| format!("{shown:?} is not inside the workspace root"))?;
    if !resolved.is_dir() {
        return Err(format!("{shown:?} is not a directory"));
    }
    Ok(Workspace(relative.to_owned()))
}

fn refused(refusal: &Refusal) -> Error {
    match refusal {
        Refusal::SessionExists => Error::SessionExists,
        Refusal::SessionUnknown => Error::UnknownSession,
        Refusal::SessionEnded => Error::SessionEnded,
        Refusal::CallExists(_) => Error::CallIdConflict,
        Refusal::NotOpen => Error::CallSettled,
    }
}

fn session_event(kind: EventType, row: &SessionRow) -> EventDraft {
    EventDraft::new(kind, Subject::session(&row.id, &row.agent), |w| {
        if kind == EventType::SessionEnd {
            return;
        }
        w.string("workspace", &row.workspace.0.to_string_lossy())
            .string("approval_policy", row.approval_policy.as_str())
            .string("principal", &row.principal)
            .json("metadata", &Json::Object(row.metadata.clone()));
    })
}
