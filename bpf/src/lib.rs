//! (being laid down)
