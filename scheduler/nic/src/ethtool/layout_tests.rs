//! The requests' parts are where the kernel's header has them: a C compiler says where.

use std::io::Write;
use std::process::{Command, Stdio};

/// What each expression over include/uapi/linux/ethtool.h comes to.
fn compiled(expressions: &[&str]) -> Vec<usize> {
    let list = expressions.join(", ");
    let program = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <linux/ethtool.h>\n\
         int main(void) {{ unsigned long all[] = {{ {list} }};\n\
         for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) printf(\"%lu\\n\", all[i]); }}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-", "-o"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
    let said = Command::new(&path).output().unwrap().stdout;
    String::from_utf8(said).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn rules() {
    use super::rules::*;
    let found = compiled(&[
        "sizeof(struct ethtool_rxnfc)",
        "offsetof(struct ethtool_rxnfc, data)",
        "offsetof(struct ethtool_rxnfc, fs.flow_type)",
        "offsetof(struct ethtool_rxnfc, fs.h_u)",
        "offsetof(struct ethtool_rxnfc, fs.m_u)",
        "offsetof(struct ethtool_rxnfc, fs.m_ext) + sizeof(struct ethtool_flow_ext)",
        "offsetof(struct ethtool_rxnfc, fs.ring_cookie)",
        "offsetof(struct ethtool_rxnfc, fs.location)",
        "offsetof(struct ethtool_rxnfc, rule_cnt)",
        "offsetof(struct ethtool_rxnfc, rss_context)",
        "offsetof(struct ethtool_rxnfc, rule_locs)",
        "offsetof(struct ethtool_tcpip4_spec, pdst)",
        "offsetof(struct ethtool_tcpip6_spec, pdst)",
        "FLOW_RSS",
        "FLOW_EXT | FLOW_MAC_EXT",
        "RX_CLS_LOC_SPECIAL",
        "RX_CLS_LOC_ANY",
    ]);
    let ours = [
        SIZE,
        DATA,
        FLOW_TYPE,
        HEADER,
        MASK,
        MASK_END,
        COOKIE,
        LOCATION,
        COUNT,
        COUNT,
        LOCATIONS,
        PORT_V4,
        PORT_V6,
        FLOW_RSS as usize,
        FLOW_EXT as usize,
        SPECIAL as usize,
        ANY as usize,
    ];
    assert_eq!(found, ours);
    let commands = compiled(&[
        "ETHTOOL_GRXCLSRLCNT",
        "ETHTOOL_GRXCLSRULE",
        "ETHTOOL_GRXCLSRLALL",
        "ETHTOOL_SRXCLSRLDEL",
        "ETHTOOL_SRXCLSRLINS",
    ]);
    assert_eq!(commands, [GET_COUNT, GET_RULE, GET_ALL, DELETE, INSERT].map(|it| it as usize));
}

#[test]
fn contexts() {
    use super::contexts::*;
    let found = compiled(&[
        "sizeof(struct ethtool_rxfh) / 4",
        "offsetof(struct ethtool_rxfh, rss_context) / 4",
        "offsetof(struct ethtool_rxfh, indir_size) / 4",
        "ETH_RXFH_CONTEXT_ALLOC",
        "ETHTOOL_GRSSH",
        "ETHTOOL_SRSSH",
    ]);
    assert_eq!(found, [WORDS, CONTEXT, TABLE_SIZE, NEW as usize, GET as usize, SET as usize]);
}
