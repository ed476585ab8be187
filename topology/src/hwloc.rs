//! The only module that calls hwloc. It opens a topology, from the live machine or from XML, and
//! avoids the library's traps. [`describe()`] turns the result into plain data.

mod describe;
mod plain;
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

/// Environment variables that make hwloc describe another machine.
const HIJACKERS: [&str; 5] =
    ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_THISSYSTEM"];

/// Opens the machine this runs on. An XML file from the environment is accepted only if
/// `HWLOC_THISSYSTEM` says that it describes this machine, which is hwloc's way to skip a slow
/// discovery.
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

/// Opens the machine in an XML file. The file is read here, because hwlocality panics if it is
/// missing.
pub(crate) fn xml_file(path: &Path) -> Result<Topology, Error> {
    let xml = fs::read_to_string(path)
        .map_err(|source| Error::ReadXml { path: path.to_owned(), source })?;
    let version = version_of(&xml).ok_or_else(|| Error::NotATopology { path: path.to_owned() })?;
    if version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|v: u32| v > 2) {
        return Err(Error::XmlTooNew { path: path.to_owned(), version: version.to_owned() });
    }
    parse(&xml)?.ok_or_else(|| Error::BadXml { path: path.to_owned() })
}

/// Opens the machine in an XML text; `None` if hwloc rejects it. hwloc only parses the text in the
/// build step, so an error in either step means the same.
fn parse(xml: &str) -> Result<Option<Topology>, Error> {
    Ok(builder()?.from_xml(xml).ok().and_then(|builder| builder.build().ok()))
}

/// The version in the header of an hwloc XML text. Empty for the format of hwloc 1, which has no
/// version; `None` if the text is not an hwloc topology.
fn version_of(xml: &str) -> Option<&str> {
    let (_, rest) = xml.split_once("<topology")?;
    let (attributes, _) = rest.split_once('>')?;
    let version = attributes.split_once("version=\"").map(|(_, rest)| rest);
    Some(version.and_then(|rest| rest.split('"').next()).unwrap_or_default())
}

/// The options for hwloc, for every source.
fn builder() -> Result<TopologyBuilder, Error> {
    // Disallowed CPUs are outside our own cpuset, but we schedule for all processes. Discovery
    // must not disturb the host, so hwloc may not run on every CPU to read its CPUID.
    let flags = BuildFlags::INCLUDE_DISALLOWED | BuildFlags::DONT_CHANGE_BINDING;
    TopologyBuilder::new()
        .with_flags(flags)
        .map_err(hwloc_error)?
        // Without this, hwloc leaves out all devices.
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
