//! Text in columns.

/// Lines of `rows` under `header`, each column as wide as its widest cell. Columns in which no row
/// has a value ("-") are left out.
pub(crate) fn lines(header: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let cells = |column: usize| rows.iter().map(move |row| row[column].as_str());
    let shown: Vec<usize> =
        (0..header.len()).filter(|&column| cells(column).any(|cell| cell != "-")).collect();
    let width = |column: usize| {
        cells(column).chain([header[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |row: &dyn Fn(usize) -> String| {
        let cells =
            shown.iter().map(|&column| format!("{:width$}", row(column), width = width(column)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head = line(&|column| header[column].to_owned());
    std::iter::once(head)
        .chain(rows.iter().map(|row| line(&|column| row[column].clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn empty_columns_are_left_out() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["rx-0", "-", "7"]), row(["rx-10", "-", "-"])];
        assert_eq!(lines(&["QUEUE", "IRQ", "XPS"], &rows), ["QUEUE  XPS", "rx-0   7", "rx-10  -"]);
    }
}
