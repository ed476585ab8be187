//! Changes the layout of JSON text. It does not parse numbers, so no digit can change.

use indexmap::IndexMap;
use serde_json::Result;
use serde_json::value::RawValue;

/// Longest line for a whole object, or for a list of lists.
const LINE: usize = 120;

/// The same JSON on one line, without spaces between its parts.
pub(crate) fn compact(json: &RawValue) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let keep = |letter: &char| {
        let keep = quoted || !letter.is_ascii_whitespace();
        if *letter == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && *letter == '\\' && !escaped;
        keep
    };
    json.get().chars().filter(keep).collect()
}

/// The same JSON for people: short objects and lists of plain values are on one line.
///
/// # Errors
/// Never, because a [`RawValue`] is valid JSON.
pub(crate) fn readable(json: &RawValue) -> Result<String> {
    let mut text = String::new();
    write(json, 0, &mut text)?;
    text.push('\n');
    Ok(text)
}

fn write(json: &RawValue, depth: usize, text: &mut String) -> Result<()> {
    let line = compact(json);
    let long = line.len() > LINE;
    match line.as_bytes()[0] {
        b'{' if long => {
            let members: IndexMap<String, &RawValue> = serde_json::from_str(json.get())?;
            let named = members.into_iter().map(|(name, value)| (Some(name), value));
            write_all(named.collect(), ('{', '}'), depth, text)
        }
        b'[' if long && line[1..].contains(['{', '[']) => {
            let items: Vec<&RawValue> = serde_json::from_str(json.get())?;
            let unnamed = items.into_iter().map(|item| (None, item));
            write_all(unnamed.collect(), ('[', ']'), depth, text)
        }
        _ => {
            text.push_str(&line);
            Ok(())
        }
    }
}

/// The parts of an object or a list, each on a line of its own.
fn write_all(
    parts: Vec<(Option<String>, &RawValue)>,
    (open, close): (char, char),
    depth: usize,
    text: &mut String,
) -> Result<()> {
    let indent = |depth: usize| "  ".repeat(depth);
    text.push(open);
    for (index, (name, value)) in parts.into_iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&indent(depth + 1));
        if let Some(name) = name {
            text.push_str(&serde_json::to_string(&name)?);
            text.push_str(": ");
        }
        write(value, depth + 1, text)?;
    }
    text.push('\n');
    text.push_str(&indent(depth));
    text.push(close);
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// JSON of any form.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 200, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..12)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_forms_are_the_same_json(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let json = raw(&text.unwrap());
            let short = compact(&json);
            prop_assert_eq!(&short, &serde_json::to_string(&value).unwrap());
            let long = readable(&json).unwrap();
            prop_assert_eq!(compact(&raw(long.trim_end())), short);
        }
    }

    #[test]
    fn digits_stay_as_they_were() {
        let text = r#"{"a": 1.10, "b" : [ 0.30000000000000004441, 1E400 ], "c\" d": " x\\" }"#;
        let short = r#"{"a":1.10,"b":[0.30000000000000004441,1E400],"c\" d":" x\\"}"#;
        assert_eq!(compact(&raw(text)), short);
        assert_eq!(readable(&raw(text)).unwrap(), format!("{short}\n"));
    }

    #[test]
    fn a_long_object_has_a_line_per_member_and_a_long_list_of_numbers_one() {
        let numbers: Vec<u32> = (1000..1040).collect();
        let line = serde_json::to_string(&numbers).unwrap();
        let value = json!({"first": {"median": 1, "samples": [1, 2]}, "second": numbers});
        let expected = format!(
            "{{\n  \"first\": {{\"median\":1,\"samples\":[1,2]}},\n  \"second\": {line}\n}}\n"
        );
        assert_eq!(readable(&raw(&value.to_string())).unwrap(), expected);
    }
}
