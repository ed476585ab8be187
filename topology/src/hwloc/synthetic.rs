//! Machines for tests. hwloc writes the XML of a synthetic description, which cannot have devices.
//! This module adds NICs to that text, as hwloc would write them.

use hwlocality::Topology;
use hwlocality::topology::export::xml::XMLExportFlags;

use super::{builder, hwloc_error, parse};
use crate::error::Error;

/// See [`crate::Machine::synthetic`].
pub(crate) fn synthetic(
    description: &str,
    nics: &[(&str, &str, usize)],
) -> Result<Topology, Error> {
    let bare = builder()?.from_synthetic(description).map_err(hwloc_error)?;
    let bare = bare.build().map_err(hwloc_error)?;
    let xml = bare.export_xml(XMLExportFlags::empty()).map_err(hwloc_error)?;
    let mut lines: Vec<String> = xml.lines().map(str::to_owned).collect();
    for (slot, (name, kind, nth)) in nics.iter().enumerate() {
        let end = end_of(&lines, kind, *nth)
            .ok_or_else(|| Error::Hwloc(format!("{description} has no {kind} {nth}")))?;
        lines.insert(end, nic(name, slot));
    }
    parse(&lines.join("\n"))?.ok_or_else(|| Error::Hwloc(format!("{description} with NICs")))
}

/// The line that closes the `nth` object of a kind: the next line with the same indentation.
fn end_of(lines: &[String], kind: &str, nth: usize) -> Option<usize> {
    let opens = format!("<object type=\"{kind}\"");
    let is_one = |line: &&String| line.trim_start().starts_with(&opens);
    let (start, line) = lines.iter().enumerate().filter(|(_, line)| is_one(line)).nth(nth)?;
    let indent = &line[..line.len() - line.trim_start().len()];
    let close = format!("{indent}</object>");
    (start..lines.len()).find(|&index| lines[index] == close)
}

/// A NIC as the only function behind a host bridge. hwloc numbers objects from 1.
fn nic(name: &str, slot: usize) -> String {
    let (number, bus) = (1_000_000 + 3 * slot, 0x80 + slot);
    format!(
        r#"<object type="Bridge" gp_index="{number}" bridge_type="0-1" depth="0" bridge_pci="0000:[{bus:02x}-{bus:02x}]">
<object type="PCIDev" gp_index="{}" pci_busid="0000:{bus:02x}:00.0" pci_type="0200 [15b3:1017] [15b3:0007] 00" pci_link_speed="15.753846">
<object type="OSDev" gp_index="{}" name="{name}" osdev_type="2"/>
</object>
</object>"#,
        number + 1,
        number + 2,
    )
}
