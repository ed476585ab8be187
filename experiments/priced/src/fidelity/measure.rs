//! Figures of measured flows, and ratios of them.

use steer_stats::median;

use crate::flows::{Case, Flows};
use crate::machine::Machine;

/// What of a case is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    /// All bytes per CPU-second.
    PerCore,
    /// Bytes of long flows per second.
    Long,
    /// Bytes of short flows per second.
    Short,
}

/// A machine and its NIC, as they are or otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variant {
    /// Whether devices write to the L3, where the machine can do that.
    pub(super) ddio: bool,
    /// The NIC's receive buffers.
    pub(super) ring: u32,
}

impl Variant {
    /// As the host-network-stack paper's machine is: its NIC's driver has 1,024 receive buffers
    /// (mlx5).
    pub(super) const AS_IT_IS: Self = Self { ddio: true, ring: 1024 };

    /// The machine in this variant; `None` if it has no DDIO to leave out.
    pub(super) fn of(self, machine: &Machine) -> Option<Machine> {
        if self.ddio { Some(machine.clone()) } else { machine.without_ddio() }
    }
}

/// A figure of a case, by that of another if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    figure: Figure,
    case: Case,
    variant: Variant,
    of: Option<Case>,
}

impl Measure {
    pub(super) const fn of(figure: Figure, case: Case) -> Self {
        Self { figure, case, variant: Variant::AS_IT_IS, of: None }
    }

    pub(super) const fn ratio(figure: Figure, case: Case, of: Case) -> Self {
        Self { figure, case, variant: Variant::AS_IT_IS, of: Some(of) }
    }

    /// The first case, in another variant of the machine than the other case.
    pub(super) const fn with(self, variant: Variant) -> Self {
        Self { variant, ..self }
    }

    /// What came out on a machine: the median over the seeds, each by that of the other case's.
    /// `None` on a machine that has no DDIO to leave out.
    pub(super) fn on(self, machine: &Machine, flows: &[Flows]) -> Option<f64> {
        let above = self.all(&self.variant.of(machine)?, self.variant.ring, self.case, flows);
        let values = match self.of {
            None => above,
            Some(case) => {
                let below = self.all(machine, Variant::AS_IT_IS.ring, case, flows);
                above.iter().zip(below).map(|(above, below)| above / below).collect()
            }
        };
        median(&values)
    }

    /// The figure of a case, for each seed.
    fn all(self, machine: &Machine, ring: u32, case: Case, flows: &[Flows]) -> Vec<f64> {
        let mut of_case: Vec<&Flows> = flows
            .iter()
            .filter(|it| it.machine == machine.id && it.ring == ring && it.case == case)
            .collect();
        of_case.sort_by_key(|it| it.seed);
        let value = |it: &Flows| match self.figure {
            Figure::PerCore => it.gbits_per_core,
            Figure::Long => it.long_gbits_per_s,
            Figure::Short => it.short_gbits_per_s,
        };
        of_case.into_iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Case = Case::one_flow(2, 2);
    const FAR: Case = Case::one_flow(0, 0);

    fn flows(machine: &str, seed: u32, case: Case, gbits_per_core: f64) -> Flows {
        Flows {
            machine: machine.to_owned(),
            mtu: 9000,
            ring: Variant::AS_IT_IS.ring,
            seed,
            case,
            long_gbits_per_s: 1.0,
            short_gbits_per_s: 0.0,
            gbits_per_core,
            busy: 1.0,
            stalled: 0.0,
            elsewhere: 0.0,
        }
    }

    fn machine(name: &str) -> Machine {
        let text = std::fs::read_to_string(format!("machines/{name}.toml")).unwrap();
        Machine::parse(&text, format!("{name}.toml").as_ref()).unwrap()
    }

    #[test]
    fn a_ratio_is_the_median_over_seeds_whatever_their_order() {
        let xeon = machine("xeon-gold-6128");
        let mut measured = Vec::new();
        for (seed, near, far) in [(2, 50.0, 30.0), (0, 40.0, 32.0), (1, 10.0, 7.0)] {
            measured.push(flows(&xeon.id, seed, FAR, far));
            measured.insert(0, flows(&xeon.id, seed, NEAR, near));
        }
        measured.push(flows("uniform", 0, FAR, 1.0));
        let ratio = Measure::ratio(Figure::PerCore, FAR, NEAR);
        assert_eq!(ratio.on(&xeon, &measured), Some(0.7));
        assert_eq!(Measure::of(Figure::PerCore, NEAR).on(&xeon, &measured), Some(40.0));
    }

    #[test]
    fn without_ddio_is_another_machine_or_none() {
        let (xeon, epyc) = (machine("xeon-gold-6128"), machine("epyc-7763"));
        let measured =
            [flows(&xeon.id, 0, NEAR, 40.0), flows("xeon-gold-6128 without DDIO", 0, NEAR, 30.0)];
        let ratio = Measure::ratio(Figure::PerCore, NEAR, NEAR)
            .with(Variant { ddio: false, ..Variant::AS_IT_IS });
        assert_eq!(ratio.on(&xeon, &measured), Some(0.75));
        assert_eq!(ratio.on(&epyc, &measured), None);
    }
}
