//! (being laid down)
fn main() {}
