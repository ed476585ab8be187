//! The kernel's other form of a CPU set: a hexadecimal mask in groups of 32 CPUs, `00000003,0000000f`.

use super::{CpuSet, MAX_CPU, ParseCpuSetError};

/// CPUs in a group of the mask.
const GROUP: u32 = 32;

impl CpuSet {
    /// Reads a mask as `xps_cpus` and `rps_cpus` hold it.
    ///
    /// # Errors
    /// A group is not hexadecimal, is longer than 32 bits, or names a CPU beyond [`MAX_CPU`].
    pub fn from_mask(text: &str) -> Result<CpuSet, ParseCpuSetError> {
        let text = text.trim();
        let bad = || ParseCpuSetError::NotAMask(text.to_owned());
        let mut cpus = CpuSet::new();
        for (group, digits) in text.rsplit(',').enumerate() {
            if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(bad());
            }
            let bits = u32::from_str_radix(digits, 16).map_err(|_| bad())?;
            let first = u32::try_from(group).map_err(|_| bad())?.saturating_mul(GROUP);
            for cpu in (0..GROUP).filter(|bit| bits & (1 << bit) != 0).map(|bit| first + bit) {
                if cpu > MAX_CPU {
                    return Err(ParseCpuSetError::TooLarge(cpu.to_string()));
                }
                cpus.insert(cpu);
            }
        }
        Ok(cpus)
    }

    /// Writes the mask. The kernel pads it with zeros when it reads it back.
    pub fn to_mask(&self) -> String {
        let groups = self.last().map_or(1, |last| last / GROUP + 1);
        let mut bits = vec![0u32; groups as usize];
        for cpu in self.iter() {
            bits[(cpu / GROUP) as usize] |= 1 << (cpu % GROUP);
        }
        let (first, rest) = bits.split_last().expect("there is one group at least");
        rest.iter().rev().fold(format!("{first:x}"), |mask, group| format!("{mask},{group:08x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_as_the_kernel_writes_them() {
        for (mask, cpus) in [
            ("0", ""),
            ("00000000,00000000", ""),
            ("f", "0-3"),
            ("00000001,00000003", "0-1,32"),
            ("80000000,00000000,00000000", "95"),
        ] {
            assert_eq!(CpuSet::from_mask(mask).unwrap().to_string(), cpus, "{mask}");
        }
        for bad in ["", "x", "1,,1", "100000000", "+1", "-1", "0x3"] {
            assert!(CpuSet::from_mask(bad).is_err(), "{bad:?}");
        }
        let beyond = format!("1{}", ",00000000".repeat(256));
        assert!(matches!(CpuSet::from_mask(&beyond), Err(ParseCpuSetError::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn a_mask_reads_back(cpus in proptest::collection::btree_set(0..=MAX_CPU, 0..40)) {
            let cpus: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(CpuSet::from_mask(&cpus.to_mask()).unwrap(), cpus);
        }

        #[test]
        fn any_text_is_harmless(text in "\\PC{0,30}") {
            let _ = CpuSet::from_mask(&text);
        }
    }
}
