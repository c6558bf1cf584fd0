//! The innermost service: the tool's own code.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use futures_util::FutureExt as _;
use tower::Service;

use super::around::{Answer, BodyFailure, Dispatch, DispatchFault, Pending};
use crate::{
    domain::{Code, ErrorCode, Failure},
    registry::{ExecutionContext, Signal, ToolError},
};

/// Runs the captured body. A panic is the tool's failure, not the pipeline's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body;

impl Service<Dispatch> for Body {
    type Response = Answer;
    type Error = DispatchFault;
    type Future = Pending;

    fn poll_ready(&mut self, _cx: &mut TaskContext<'_>) -> Poll<Result<(), DispatchFault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, dispatch: Dispatch) -> Pending {
        Box::pin(async move {
            let Dispatch {
                execution,
                tool,
                caller,
                signal,
                host,
                ..
            } = dispatch;
            let fused = fuse(&caller, &signal);
            let context = ExecutionContext::new(execution, fused.clone(), Arc::clone(&host));
            let body = AssertUnwindSafe(tool.body().run(&context)).catch_unwind();
            let ended = following(body, &signal, &fused).await;
            let value = match ended {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(failure(error)),
                Err(_) => {
                    tracing::error!(tool = tool.name(), "a tool panicked");
                    let message = "the tool failed unexpectedly";
                    Err(BodyFailure::Failed(Failure::new(
                        ErrorCode::ToolError,
                        message,
                    )))
                }
            };
            let (contexts, concludes_turn) = context.take_deferred();
            Ok(Answer {
                value,
                contexts,
                concludes_turn,
            })
        })
    }
}

/// The caller's cancellation, fused back in: what a wrapper puts in its place may add to it, never
/// take it away.
fn fuse(caller: &Signal, signal: &Signal) -> Signal {
    if signal.descends_from(caller) {
        signal.clone()
    } else {
        caller.child()
    }
}

/// Drives the body to its end while a foreign wrapper signal is passed on to it.
async fn following<T>(body: impl Future<Output = T>, wrapper: &Signal, fused: &Signal) -> T {
    let mut body = std::pin::pin!(body);
    if fused.descends_from(wrapper) {
        return body.await;
    }
    tokio::select! {
        biased;
        ended = &mut body => return ended,
        () = wrapper.cancelled() => {}
    }
    if let Some(cause) = wrapper.cause() {
        fused.cancel(cause);
    }
    body.await
}

fn failure(error: ToolError) -> BodyFailure {
    match error {
        ToolError::Failed {
            code,
            message,
            retryable,
        } => {
            let code = code.map_or(Code::Ours(ErrorCode::ToolError), |code| {
                Code::of_tool(&code)
            });
            BodyFailure::Failed(Failure::of(code, retryable, message))
        }
        ToolError::Denied { reason } => {
            let message = format!("the call was denied by policy: {reason}");
            BodyFailure::Failed(Failure::new(ErrorCode::GuardDenied, message))
        }
        ToolError::Interrupted => BodyFailure::Interrupted,
    }
}
