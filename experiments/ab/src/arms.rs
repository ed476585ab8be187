//! The arms of a run: the main arm, and the arm that is measured twice.

use steer_lab::SCX_STEER;
use steer_scenario::arm::{AGAIN, Arm};

/// The main arm, which is compared with the others: scx_steer, or the last arm if scx_steer is not
/// among them.
pub(crate) fn main(arms: &[Arm]) -> &str {
    let own = arms.iter().find(|arm| arm.name == SCX_STEER);
    own.or(arms.iter().rfind(|arm| arm.name != AGAIN)).map_or(SCX_STEER, |arm| &arm.name)
}

/// The first other arm.
fn reference(arms: &[Arm]) -> Option<&Arm> {
    let main = main(arms);
    arms.iter().find(|arm| arm.name != main && arm.name != AGAIN)
}

/// Adds the first other arm once more, as `again`.
pub(crate) fn repeat(arms: &mut Vec<Arm>) {
    let again = reference(arms).map(|arm| Arm { name: AGAIN.to_owned(), ..arm.clone() });
    arms.extend(again);
}

/// The pair of equal arms, if one is repeated.
pub(crate) fn equal(arms: &[Arm]) -> Option<String> {
    let again = arms.iter().find(|arm| arm.name == AGAIN)?;
    Some(format!("{}/{}", again.name, reference(arms)?.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_policies_are_compared_with_each_other() {
        let arms = |names: &[&str]| -> Vec<Arm> {
            names.iter().map(|name| format!("{name}=scx_steer").parse().unwrap()).collect()
        };
        assert_eq!(main(&arms(&["old", "new"])), "new");
        let own: Vec<Arm> = ["scx_steer", "default"].iter().map(|n| n.parse().unwrap()).collect();
        assert_eq!(main(&own), SCX_STEER);
    }

    #[test]
    fn the_repeated_arm_is_the_reference_and_never_the_main_one() {
        for (names, pair, who) in [
            (["default", "scx_steer"], "again/default", SCX_STEER),
            (["scx_steer", "pinned"], "again/pinned", SCX_STEER),
            (["old=scx_steer", "new=scx_steer"], "again/old", "new"),
        ] {
            let mut arms: Vec<Arm> = names.iter().map(|name| name.parse().unwrap()).collect();
            assert_eq!(equal(&arms), None);
            repeat(&mut arms);
            assert_eq!((equal(&arms).as_deref(), main(&arms)), (Some(pair), who));
            assert_eq!(arms.len(), 3);
        }
    }
}
