//! How much work a value is.

use super::Json;

/// What an element weighs beside its text.
const ELEMENT: usize = 8;

/// Whether texts and elements together weigh more than `bytes`. Looks no further than it must.
pub(super) fn is_over(value: &Json, bytes: usize) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => return bytes < ELEMENT,
        Json::String(text) => return bytes < text.len().saturating_add(ELEMENT),
        Json::Array(_) | Json::Object(_) => {}
    }
    let mut left = bytes;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let weight = match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => ELEMENT,
            Json::String(text) => text.len().saturating_add(ELEMENT),
            Json::Array(items) => {
                // no more of them than could still fit
                open.extend(items.iter().take(left / ELEMENT + 1));
                ELEMENT
            }
            Json::Object(members) => {
                open.extend(members.values().take(left / ELEMENT + 1));
                members
                    .keys()
                    .take(left / ELEMENT + 1)
                    .map(String::len)
                    .sum::<usize>()
                    + ELEMENT
            }
        };
        match left.checked_sub(weight) {
            Some(rest) => left = rest,
            None => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::*;

    #[test]
    fn texts_names_and_elements_weigh() {
        let read = |text: &str| Json::read(text.as_bytes(), &Limits::default()).unwrap();
        let long = "x".repeat(100);
        for (value, light, heavy) in [
            (Json::Null, 8, 7),
            (read(&format!("{long:?}")), 108, 107),
            (read(&format!("{{{long:?}:1}}")), 116, 115),
            (read(&format!("[{}1]", "1,".repeat(99))), 808, 807),
        ] {
            assert!(!is_over(&value, light), "{light}");
            assert!(is_over(&value, heavy), "{heavy}");
        }
    }
}
