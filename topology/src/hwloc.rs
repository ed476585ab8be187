//! The one place that speaks to hwloc: opens a topology, from the live machine or from XML, past
//! the library's traps. What it finds is turned into plain data in [`describe()`].

mod describe;
mod seats;
#[cfg(feature = "testing")]
mod synthetic;

use std::fs;
use std::path::Path;

use hwlocality::Topology;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder, TypeFilter};

use crate::error::Error;

#[cfg(test)]
pub(crate) use describe::test_machine;
pub(crate) use describe::{Described, describe};
pub(crate) use seats::Seat;
#[cfg(feature = "testing")]
pub(crate) use synthetic::synthetic;

/// Environment variables that make hwloc describe another machine than this one.
const HIJACKERS: [&str; 5] =
    ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_THISSYSTEM"];

/// The machine this runs on. An XML file from the environment is accepted only where
/// `HWLOC_THISSYSTEM` says that it is this machine, which is hwloc's way to skip a slow discovery.
pub(crate) fn this_machine() -> Result<Topology, Error> {
    let topology = builder().and_then(build)?;
    if topology.is_this_system() {
        return Ok(topology);
    }
    let set: Vec<&str> =
        HIJACKERS.into_iter().filter(|variable| std::env::var_os(variable).is_some()).collect();
    let variables = if set.is_empty() { "an HWLOC_ variable".into() } else { set.join(", ") };
    Err(Error::NotThisMachine { variables })
}

/// The machine in an XML file. Read here, because hwlocality panics on a file that is not there.
pub(crate) fn xml_file(path: &Path) -> Result<Topology, Error> {
    let xml = fs::read_to_string(path)
        .map_err(|source| Error::ReadXml { path: path.to_owned(), source })?;
    let version = version_of(&xml).ok_or_else(|| Error::NotATopology { path: path.to_owned() })?;
    if version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|v: u32| v > 2) {
        return Err(Error::XmlTooNew { path: path.to_owned(), version: version.to_owned() });
    }
    parse(&xml)?.ok_or_else(|| Error::BadXml { path: path.to_owned() })
}

/// The machine in an XML text; `None` if hwloc rejects it. It only looks at the text in the build,
/// so both steps mean the same.
fn parse(xml: &str) -> Result<Option<Topology>, Error> {
    Ok(builder()?.from_xml(xml).ok().and_then(|builder| builder.build().ok()))
}

/// The version in the header of an hwloc XML text; empty for the format of hwloc 1, which has
/// none; `None` if the text is no hwloc topology.
fn version_of(xml: &str) -> Option<&str> {
    let (_, rest) = xml.split_once("<topology")?;
    let (attributes, _) = rest.split_once('>')?;
    let version = attributes.split_once("version=\"").map(|(_, rest)| rest);
    Some(version.and_then(|rest| rest.split('"').next()).unwrap_or_default())
}

/// What is asked of hwloc, whatever the source.
fn builder() -> Result<TopologyBuilder, Error> {
    // Disallowed CPUs are those outside our own cpuset, and we schedule for everyone. Discovery
    // must not disturb the host, so hwloc may not hop over every CPU to ask it for its CPUID.
    let flags = BuildFlags::INCLUDE_DISALLOWED | BuildFlags::DONT_CHANGE_BINDING;
    TopologyBuilder::new()
        .with_flags(flags)
        .map_err(hwloc_error)?
        // Without this hwloc leaves out all devices.
        .with_io_type_filter(TypeFilter::KeepImportant)
        .map_err(hwloc_error)
}

/// Runs the discovery.
fn build(builder: TopologyBuilder) -> Result<Topology, Error> {
    builder.build().map_err(hwloc_error)
}

fn hwloc_error(error: impl ToString) -> Error {
    Error::Hwloc(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_version() {
        assert_eq!(version_of("<topology version=\"2.0\">"), Some("2.0"));
        assert_eq!(version_of("<?xml?>\n<topology version=\"3.0\" x=\"y\">"), Some("3.0"));
        assert_eq!(version_of("<topology>"), Some(""));
        assert_eq!(version_of("<html>"), None);
        assert_eq!(version_of(""), None);
    }
}
