//! What the points of an experiment have in common.

use indexmap::IndexMap;

/// The fields of all records. The value of a field is `varies` if a record lacks it or differs.
pub(super) fn common(records: Vec<Vec<(String, String)>>) -> Vec<(String, String)> {
    let fields: IndexMap<&String, &String> =
        records.iter().flatten().map(|field| (&field.0, &field.1)).collect();
    let field = |(name, value): (&String, &String)| {
        let same = records.iter().all(|record| record.contains(&(name.clone(), value.clone())));
        (name.clone(), if same { value.clone() } else { "varies".to_owned() })
    };
    fields.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_point_lacks_varies() {
        let record = |fields: &[(&str, &str)]| -> Vec<(String, String)> {
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let records = vec![record(&[("a", "1")]), record(&[("a", "1"), ("b", "2")])];
        assert_eq!(common(records), record(&[("a", "1"), ("b", "varies")]));
    }
}
