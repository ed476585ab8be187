//! The text form of groups and cgroups: a name, then settings like `nice=5`, each at most once.

/// A name, and its settings with their values.
type Named<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// Splits `NAME key=value ...` into the name and its settings.
pub(super) fn split<'a>(text: &'a str, help: &str) -> Result<Named<'a>, String> {
    let mut words = text.split_whitespace();
    let name = words.next().filter(|name| !name.contains('='));
    let name = name.ok_or_else(|| format!("{text:?} has no name; {help}"))?;
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("{word:?}: {help}"))?;
        if settings.iter().any(|(other, _)| *other == key) {
            return Err(format!("{name}: {key} is given twice"));
        }
        settings.push((key, value));
    }
    Ok((name, settings))
}

/// Parses a whole number within bounds, both included.
pub(super) fn within(value: &str, least: i64, most: i64) -> Result<i64, String> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("write a whole number from {least} to {most}")),
    }
}
