# transcripts.awk LOG DOCUMENT: prints the document; after each line `<!-- transcript: NAME -->` stands
# the section `== NAME` of the log. A section that the log lacks is an error.
FILENAME == ARGV[1] {
	if (/^== /) { name = substr($0, 4); found[name] = "" }
	else if (name != "") found[name] = found[name] $0 "\n"
	next
}
skipping == 1 && /^```$/ { skipping = 2; next }
skipping == 1 { if ($0 != "") print ""; skipping = 0 }
skipping == 2 { if (/^```$/) skipping = 0; next }
{ print }
/^<!-- transcript: .* -->$/ {
	name = substr($0, 18, length($0) - 21)
	if (!(name in found)) { print "the log has no section \"" name "\"" >"/dev/stderr"; exit 1 }
	sub(/\n+$/, "\n", found[name])
	printf "```\n%s```\n", found[name]
	skipping = 1
}
