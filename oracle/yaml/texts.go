package main

import "strings"

// Text of which some spelling means something to a reader of YAML 1.1 or 1.2.
var words = []string{
	"", "~", "null", "Null", "NULL", "nULL", "y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "nO", "true", "True", "TRUE", "tRue",
	"false", "False", "FALSE", "fAlse", "on", "On", "ON", "oN", "off", "Off", "OFF", "oFf", "<<", "=", "-", "--", "---", "...", "....", ".", "..",
	".nan", ".NaN", ".NAN", ".nAn", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "+.INF", "inf", "Inf", "+Inf", "-Infinity", "nan", "NaN",
	"0", "-0", "+0", "00", "01", "007", "08", "09", "0644", "-0644", "+0644", "0800", "08080", "0o7", "0o644", "0O17", "-0o7", "0o8", "0x", "0x1F", "0X1f",
	"-0xA", "+0xa", "0xg", "0x1.8p1", "0x_1", "0_x1", "0b", "0b1", "0B10", "-0b11", "+0b1", "0b2", "0b-101", "0b+1", "-0b-1", "0b_1", "1", "-1", "+1", "12", "1_000", "_1",
	"1_", "1__0", "-_1", "+_", "_", "0_7", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"+9223372036854775808", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "0x8000000000000000", "0xffffffffffffffff", "-0xffffffffffffffff",
	"0x10000000000000000", "01777777777777777777777", "1.0", "1.5", "-1.5", "+1.5", "1.", "-1.", ".5", "-.5", "+.5", ".5.", "1.2.3", "1,000", "1e3", "1E3", "1e+3", "1e-3", "1.5e3",
	".5e3", "1.e3", "e3", "1e", "1e+", "1e3.5", "12e4567", "1e308", "1e309", "-1e309", "1e-400", "1e400", "12e345", "7e7777777", "77e7777777", "0e0", "00e1", "0.0", "-0.0",
	"1_000.5", "1.5_0", ".1_0", "._1", ".1_", ".5_e3", "1e1_0", "1.0e21", "1e21", "1e20", "123456789.123456789", "0.000001", "0.0000001", "1e6", "1e-7", "644.0", "100000.0", "1000000.0",
	"1:30", "12:34:56", "190:20:30", "1:60", "190:20:30.15", "-1:30", "0:0", "1:", ":1", "1:2:", "20:03:20", "685_230.15", "2001-12-14", "2001-1-1", "2001-12-14t21:59:43.10-05:00",
	"2001-12-14T21:59:43Z", "2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43", "2001-13-45", "2001-", "20011214", "1970-01-01", "12-34", "1-1",
	"a", "word", "two words", "ünï", "日本", "😀", "a_b", "a-b", "-a", "- a", "-\ta", "?", "?a", "? a", ":", ":a", ": a", "a:", "a: b", "a:b", "a :b", "a : b", "a:\tb", "::", "a::b", "http://x/y",
	"#", "#a", "a#b", "a #b", "a\t#b", "# a", "&", "&a", "&a b", "a&b", "*", "*a", "**", "!", "!a", "!!str a", "!<a> b", "a!b", "|", "|-", "|2", "| a", ">", ">-", "> a", "%", "%a", "%YAML 1.1", "a%", "@", "@a", "a@b",
	"`", "`a`", "a`b", "'", "''", "'a'", "a'b", "it's", "\"", "\"\"", "\"a\"", "a\"b", "\"a\" b", "'a' b", "\\", "a\\b", "\\n", "\\u0041", "[", "]", "[]", "[a]", "a[b]", "[a", "{", "}", "{}", "{a}", "{a: b}", "a{b}", "{{ .x }}", "{{x}}",
	"a, b", ",", ",a", "a,", "a ,b", "--- a", "---a", "a ---", "... a", "...a", "- - a", "-- a", "a\u0000b", "\u0001", "\u0007", "\u001b[1m", "\u007f", "a\u0080b", "\u009b", "\u00a0", "a\u00a0b", "\u00ad", "\u200b", "a\u200eb", "\u202e", "a\u202eb", "\ufeff", "\ufeffa", "a\ufeffb",
	"\ufffd", "\ue000", "\uf8ff", "\ufdd0", "\uffff", "\U0001ffff", "\U000e0041", "\U0010ffff", "\U0001f468\u200d\U0001f469", "e\u0301", "kind: Secret", "apiVersion: v1", "$(HOME)", "${HOME}", "%s", "100%", "<a href=\"b\">", "a=b", "=a", "key=", "~a", "a~", "~/x", "null ", "NULLs", "true ", "trues", "y1",
	"12e4567a", "1e3x", "0x1Fz", "0b12", "08x", "1 2", "1-", "+", "+a", "-+1", "+-1", "--1", "1+1", "1/2", "1%", "$1", "1.2.3.4", "10.0.0.0/8", "::1", "fe80::1", "v1.36.0", "sha256:0123456789", "0123456789abcdef", "1234567e8", "00000000e00000", "5e55555", "6e666", "deadbeef", "d34db33f", "1e1000000000000",
}

// What may stand before, between and behind.
var edges = []string{"", " ", "  ", "\t", "\n", "\n\n", " \n", "\n ", "\t\n", "\n\t", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\u2028\n", "\n\u2029", "\u00a0", "\ufeff", "# ", "- ", ": ", "? ", "\u200b"}

var bodies = []string{"", "a", "- a", "key: value", "#c", "'q'", "\"d\"", "12", "true", "\ttab", "{x}"}

// All texts, each once.
func texts() []string {
	var all []string
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	for _, word := range words {
		add(word)
		add(word + "\n")
		add(word + "\n" + word)
		add(" " + word)
		add(word + " ")
	}
	for _, body := range bodies {
		for _, before := range edges {
			for _, behind := range edges {
				add(before + body + behind)
			}
			add(body + before + body)
			add(body + before + body + before + body + "\n")
			add("first" + before + body + "\nlast")
			add("first\n" + before + body + "\n\n")
		}
	}
	for _, length := range []int{60, 79, 80, 81, 127, 128, 129, 200, 1000, 1023, 1024, 1025, 3000} {
		add(strings.Repeat("x", length))
		add(strings.Repeat("word ", length/5))
		add(strings.Repeat("word ", length/5) + "\nend")
		add(strings.Repeat("ä", length))
		add(strings.Repeat("a  b\t", length/5))
		add(strings.Repeat("a: b ", length/5))
		add(strings.Repeat("l\n", length))
	}
	// Whatever code point, alone, first, last and between.
	for _, block := range [][2]rune{{0, 0x17f}, {0x600, 0x61f}, {0x2000, 0x206f}, {0xd7f0, 0xd7ff}, {0xe000, 0xe00f}, {0xfdc0, 0xfdff}, {0xfe70, 0xfeff}, {0xfff0, 0xffff}, {0x1f600, 0x1f60f}, {0xe0000, 0xe000f}, {0x10fff0, 0x10ffff}} {
		for c := block[0]; c <= block[1]; c++ {
			add(string(c))
			add("a" + string(c) + "b")
			add(string(c) + "1")
			add("a" + string(c))
		}
	}
	for _, line := range []string{"all:\n\tgo build ./...\n", "\tgo build\n\tgo test\n", "server {\n\tlisten 80;\n}\n", "a\tb\tc\n1\t2\t3\n", "#!/bin/sh\nset -eu\n\n\techo hi\n", "  indented\nless\n", "\n  indented\n", "a\n\n\nb", "a\n \nb", "a\n\t\nb", "a \nb ", "a\t\nb\t\n", "-----BEGIN X-----\nabc=\n-----END X-----\n", "{\"a\": \"b\"}\n", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}\n", "---\na: b\n---\nc: d\n", "a: |\n  b\n", "%TAG ! x\n---\n", "...\n", "a\n...\nb\n", "a\n---\nb\n", "a\n--- b\n", "\u2028: &atruetrail\n\n", "'trail\n\n\u2029", "\u2028off|", "\u2029b", "a\u2028    b", "a \u2028 b", "a\u2028\n\u2029\nb", "x\u0085\u2028y\n"} {
		add(line)
	}
	return all
}
