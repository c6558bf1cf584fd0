//! The file tools: `read_file`, `write_file`, `edit_file`, `list_dir`, and the root that confines
//! them.
//!
//! Imports `domain`, `registry` and `tasks`. They see files below the workspace root only, through
//! descriptors, and act through their execution context only.
//!
//! Three rules hold for all four. Paths are relative to the session's directory, in arguments and
//! in values; events, observations and lock keys name files by their real path below the root,
//! links resolved. Files are text: UTF-8 without NUL. What a boundary refuses (outside the root,
//! deny lists, the daemon's own files) is a denial (`GUARD_DENIED`); what the operating system or
//! the kind of a file rules out is `FS_DENIED`.

mod arguments;
mod boundary;
mod desk;
mod diff;
mod edit_file;
mod error;
mod extract;
mod list_dir;
mod place;
mod read_file;
mod replace;
mod root;
mod route;
mod schema;
mod version;
mod write_file;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use root::{OpenError, WorkspaceRoot, WorkspaceSettings};

use crate::{domain::ToolDefinition, registry::ToolBody, tasks::Tasks};
use desk::Desk;

/// The four tools over one root, each definition with its body. Blocking work runs in `tasks`.
pub fn builtin(
    root: &Arc<WorkspaceRoot>,
    tasks: &Tasks,
) -> Vec<(ToolDefinition, Arc<dyn ToolBody>)> {
    let desk = Desk::new(Arc::clone(root), tasks.clone());
    vec![
        (
            read_file::definition(),
            Arc::new(read_file::ReadFile(desk.clone())),
        ),
        (
            write_file::definition(),
            Arc::new(write_file::WriteFile(desk.clone())),
        ),
        (
            edit_file::definition(),
            Arc::new(edit_file::EditFile(desk.clone())),
        ),
        (list_dir::definition(), Arc::new(list_dir::ListDir(desk))),
    ]
}
