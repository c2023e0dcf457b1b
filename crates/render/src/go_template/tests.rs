//! Templates against what Go printed of them (`testdata/templates/go.jsonl`, which `oracle/run templates` makes).

use serde_json::Value as Json;

use super::evaluate::run;
use super::limits::Limits;
use super::{GoTemplate, GoTemplateWriteError};

/// Templates that Go runs and this refuses, each with the reason.
const REFUSED_TEMPLATES: [(&str, &str); 0] = [];

/// What is printed of an object; `Err` with what came before a failure.
fn printed(template: &GoTemplate, object: &Json) -> Result<String, String> {
    let mut out = Vec::new();
    let result = template.write(object, &mut out);
    let text = String::from_utf8(out).unwrap();
    match result {
        Ok(()) => Ok(text),
        Err(GoTemplateWriteError::Template(_)) => Err(text),
        Err(GoTemplateWriteError::Stream(error)) => panic!("{error}"),
    }
}

#[test]
fn templates_print_what_go_prints() {
    let lines: Vec<Json> = std::fs::read(ketcd_testing::testdata::path("templates/go.jsonl"))
        .unwrap()
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let (object, cases) = (&lines[0]["object"], &lines[1..]);
    assert!(cases.len() > 100);
    let mut wrong = Vec::new();
    for case in cases {
        let text = case["template"].as_str().unwrap();
        let found = match GoTemplate::parse(text) {
            Err(error) if case["refused"] == true || REFUSED_TEMPLATES.contains(&(text, &*error.to_string())) => continue,
            Err(error) => format!("refused: {error}"),
            Ok(template) => match printed(&template, object) {
                Ok(text) if case["printed"] == text.as_str() => continue,
                Err(text) if case["failed"] == text.as_str() => continue,
                Ok(text) => format!("printed: {text:?}"),
                Err(text) => format!("failed after {text:?}: {}", template.write(object, &mut Vec::new()).unwrap_err()),
            },
        };
        wrong.push(format!("{case}\n    {found}"));
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn what_is_not_exact_is_an_error() {
    let object = serde_json::json!({"f": 1.5, "s": "\u{e9}"});
    for text in ["{{printf \"%x\" .f}}", "{{printf \"%#v\" .f}}", "{{printf \"%*d\" 3 4}}", "{{printf \"%+q\" .s}}", "{{slice .s 0 1}}"] {
        assert_eq!(printed(&GoTemplate::parse(text).unwrap(), &object), Err(String::new()), "{text}");
    }
}

#[test]
fn deep_templates_do_not_end_the_process() {
    let nested = format!("{}{}", "{{if true}}".repeat(10_000), "{{end}}".repeat(10_000));
    assert!(GoTemplate::parse(&nested).is_err());
    assert!(GoTemplate::parse(&format!("{{{{{}1{}}}}}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
    let endless = GoTemplate::parse("{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}").unwrap();
    assert_eq!(printed(&endless, &Json::Null), Err(String::new()));
}

/// Templates that would double a text, call one another, or count for ever.
#[test]
fn every_template_ends() {
    let chain: String = (0..40)
        .map(|number| format!("{{{{define \"t{number}\"}}}}{{{{template \"t{0}\"}}}}{{{{template \"t{0}\"}}}}{{{{end}}}}", number + 1))
        .collect();
    let chain = chain + "{{define \"t40\"}}{{end}}{{template \"t0\"}}";
    let limits = Limits { steps: 100_000, bytes: 1 << 20, longest: 1 << 16 };
    for (text, problem) in [
        ("{{$x := \"aaaaaaaa\"}}{{range 40}}{{$x = print $x $x}}{{end}}", "a function gets more than 65536 bytes of text"),
        ("{{$x := \"aaaaaaaa\"}}{{range 12}}{{$x = print $x $x}}{{end}}{{range 40}}{{$y := $x}}{{end}}", "makes too many bytes"),
        ("{{range 9223372036854775807}}{{end}}", "has too many steps"),
        ("{{range 1000}}{{range 1000}}{{end}}{{end}}", "has too many steps"),
        ("{{range .}}{{range $}}{{range $}}{{end}}{{end}}{{end}}", "has too many steps"),
        ("{{range 90000}}a text that is written{{end}}", "makes too many bytes"),
        (&*chain, "has too many steps"),
    ] {
        let object = serde_json::json!(vec![0; 200]);
        let template = GoTemplate::parse(text).unwrap();
        let error = run(&template, &object, limits, &mut std::io::sink()).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
    let usual = "{{range 3000}}{{printf \"%d %s\" . \"text\"}}{{end}}";
    run(&GoTemplate::parse(usual).unwrap(), &Json::Null, limits, &mut std::io::sink()).unwrap();
}
