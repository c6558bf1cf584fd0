//! `toold tools`: what an agent sees, and one tool whole.
//!
//! Imports `client`, `wire`, `screen`.

use std::process::ExitCode;

use reqwest::Method;

use super::{
    arguments::ToolsOptions,
    client::Client,
    error::Error,
    screen::{Screen, Style, one_line, table},
    wire::{Fields, read},
};
use crate::domain::Json;

/// Lists the tools, or shows the one that is named.
///
/// # Errors
/// When the daemon does not answer, or there is no such tool.
pub(super) async fn run(
    options: &ToolsOptions,
    client: &Client,
    screen: &mut Screen,
) -> Result<ExitCode, Error> {
    let mut path = vec!["tools"];
    path.extend(options.name.as_ref().map(AsRef::<str>::as_ref));
    let query: Vec<_> = options
        .agent
        .iter()
        .map(|agent| ("agent", agent.as_str()))
        .collect();
    let response = client
        .send(client.request(Method::GET, &path, &query))
        .await?;
    let body = client.body(response).await?;
    if options.json {
        screen.print(&[&*body, b"\n"].concat())?;
    } else if options.name.is_some() {
        screen.print(whole(&body, screen.style()).as_bytes())?;
    } else {
        screen.print(listed(&body)?.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each tool: its name and the first line of its description.
fn listed(catalogue: &[u8]) -> Result<String, Error> {
    let fields = Fields::of(catalogue)?;
    let items = fields.json("items");
    let Some(tools) = items.as_ref().and_then(Json::as_array) else {
        return Err(Error::Answer(
            "the daemon's catalogue has no items".to_owned(),
        ));
    };
    if tools.is_empty() {
        return Ok("This agent sees no tools.\n".to_owned());
    }
    let row = |tool: &Json| {
        let member = |name: &str| tool.get(name).and_then(Json::as_str).unwrap_or_default();
        let first_line = member("description")
            .trim()
            .lines()
            .next()
            .unwrap_or_default();
        [one_line(member("name")), one_line(first_line)]
    };
    Ok(table(&tools.iter().map(row).collect::<Vec<_>>()))
}

/// A definition for a person: its description as text, the rest as JSON.
fn whole(definition: &[u8], style: Style) -> String {
    let Some(Json::Object(mut members)) = read(definition) else {
        return format!("{}\n", style.lines(&String::from_utf8_lossy(definition)));
    };
    let mut taken = |name: &str| match members.shift_remove(name) {
        Some(Json::String(text)) => text,
        Some(other) => other.to_text(),
        None => String::new(),
    };
    let [name, description] = ["name", "description"].map(&mut taken);
    let rest = Json::Object(members).to_pretty();
    style.lines(&format!("{name}\n\n{}\n\n{rest}\n", description.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_each_tool() {
        let catalogue = br#"{"items":[
            {"name":"list_dir","description":"Lists a directory.\nMore.","parameters":{}},
            {"name":"x","description":"\n  Odd \u001b[2J one.","parameters":{}}]}"#;
        assert_eq!(
            listed(catalogue).unwrap(),
            "list_dir  Lists a directory.\nx         Odd \\u{1b}[2J one.\n"
        );
        assert_eq!(
            listed(br#"{"items":[]}"#).unwrap(),
            "This agent sees no tools.\n"
        );
        assert!(listed(b"{}").is_err() && listed(b"[]").is_err());
    }

    #[test]
    fn a_tool_is_shown_whole() {
        let definition = br#"{"name":"x","description":"Does.\nWell.","timeout":"1s","n":1.50}"#;
        assert_eq!(
            whole(definition, Style::Raw),
            "x\n\nDoes.\nWell.\n\n{\n  \"timeout\": \"1s\",\n  \"n\": 1.50\n}\n"
        );
    }
}
