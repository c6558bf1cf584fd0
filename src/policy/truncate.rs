//! `truncate`: content over a bound keeps head and tail, and says what is left out.
//!
//! Used as a tool's finalizer and as a post-execute layer. Only content is touched: the value
//! stays whole.

use async_trait::async_trait;

use super::{Judgement, LayerError, PostExecute};
use crate::domain::{Content, Draft, PostDecision, Replacement};

/// The least that is kept of a text, so that a tiny bound still tells something.
const LEAST: usize = 64;

/// Bounds the text blocks of `content` to `max_bytes` together; other blocks pass. `None` when
/// everything fits. The notice itself is not counted.
pub fn truncate(content: &[Content], max_bytes: usize) -> Option<Vec<Content>> {
    let total: usize = content
        .iter()
        .filter_map(Content::as_text)
        .map(str::len)
        .sum();
    if total <= max_bytes {
        return None;
    }
    let mut left = max_bytes;
    let shortened = content.iter().map(|block| match block.as_text() {
        None => block.clone(),
        Some(text) if text.len() <= left => {
            left -= text.len();
            block.clone()
        }
        Some(text) => {
            let short = head_and_tail(text, left.max(LEAST));
            left = 0;
            Content::text(short)
        }
    });
    Some(shortened.collect())
}

fn head_and_tail(text: &str, keep: usize) -> String {
    if text.len() <= keep {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(keep - keep / 4);
    let tail = text.ceil_char_boundary(text.len() - keep / 4);
    let (front, back) = (
        text.get(..head).unwrap_or(""),
        text.get(tail..).unwrap_or(""),
    );
    let left_out = tail - head;
    format!(
        "{front}\n[… {left_out} of {} bytes left out …]\n{back}",
        text.len()
    )
}

/// The post-execute layer: bounds the content of every result.
#[derive(Debug, Clone, Copy)]
pub struct Truncate {
    max_bytes: usize,
}

impl Truncate {
    /// Bounds text content to this many bytes.
    pub fn to(max_bytes: usize) -> Self {
        Self { max_bytes }
    }
}

#[async_trait]
impl PostExecute for Truncate {
    fn name(&self) -> &'static str {
        "truncate"
    }

    async fn review(
        &self,
        _judgement: Judgement<'_>,
        draft: &Draft,
    ) -> Result<PostDecision, LayerError> {
        let replace = truncate(draft.outcome.content(), self.max_bytes).map(Replacement::Content);
        Ok(PostDecision::Accept {
            replace,
            contexts: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(
            truncate(&[Content::text("abc"), Content::text("def")], 6),
            None
        );
    }

    #[test]
    fn head_and_tail_stay_and_the_gap_is_told() {
        let text = format!("start{}end", "x".repeat(1000));
        let short = truncate(&[Content::text(text)], 100).unwrap();
        let shown = short[0].as_text().unwrap();
        assert!(
            shown.starts_with("start") && shown.ends_with("end"),
            "{shown}"
        );
        assert!(shown.contains("of 1008 bytes left out"), "{shown}");
    }

    proptest! {
        #[test]
        fn any_text_is_cut_between_characters_and_within_its_bound(
            text in "\\PC{0,400}", max in 0_usize..400
        ) {
            let blocks = [Content::text(text.clone()), Content::text(text.clone())];
            match truncate(&blocks, max) {
                None => prop_assert!(text.len() * 2 <= max),
                Some(cut) => {
                    let kept: usize = cut.iter().filter_map(Content::as_text).map(str::len).sum();
                    prop_assert!(kept <= max + 2 * (LEAST + 60));
                }
            }
        }
    }
}
