//! The part of CEL that device selectors use: parsed once, evaluated for each device. Features that are not modelled are reported, never guessed.
//!
//! The language is that of `k8s.io/apiserver/pkg/cel/environment` (cel-spec with optional types, `cel.bind`, the string and list
//! libraries, quantities and semantic versions). There is no type checker: the API server has run it before it stored the expression.

mod arithmetic;
mod cost;
mod eval;
mod functions;
mod lexer;
mod macros;
mod parse;
mod semver;
mod static_types;
mod value;

pub(crate) use parse::Expression;
pub(crate) use semver::Semver;
pub(crate) use value::Value;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CelError {
    /// CEL's own runtime error, in its words (`no such key: model`).
    Error(String),
    /// The compiler's message for an expression it rejects.
    Compile(String),
    /// A limit that the expression exceeds; a fragment: `costs more than …`.
    Limit(String),
    /// A part of the language that is not modelled here.
    Unsupported(String),
}

impl CelError {
    /// The error of an operator or function for operands of wrong types.
    fn no_overload_of(name: &str) -> Self {
        Self::Error(format!("no such overload: {name}"))
    }

    /// CEL's error for operands that no overload takes.
    fn no_overload() -> Self {
        Self::Error("no such overload".to_owned())
    }
}

type Result<T> = std::result::Result<T, CelError>;

#[cfg(test)]
mod tests {
    use super::{CelError, Expression, Semver, Value};
    use crate::cluster::Amount;

    fn device() -> Value {
        let attributes = Value::map([
            ("model", Value::string("A1")),
            ("index", Value::Int(3)),
            ("ecc", Value::Bool(true)),
            ("version", Value::Semver(Semver::parse("1.2.3").unwrap())),
        ]);
        let capacity = Value::map([("memory", Value::Quantity(Amount::parse("40Gi").unwrap()))]);
        Value::map([
            ("driver", Value::string("gpu.example.com")),
            ("attributes", Value::map([("gpu.example.com", attributes)]).with_default()),
            ("capacity", Value::map([("gpu.example.com", capacity)]).with_default()),
        ])
    }

    fn run(expression: &str) -> Result<Value, CelError> {
        Expression::parse(expression)?.evaluate(&[("device", device())])
    }

    fn check(expression: &str, wanted: bool) {
        assert_eq!(run(expression), Ok(Value::Bool(wanted)), "{expression}");
    }

    #[test]
    fn selectors_of_devices() {
        check("device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'A1'", true);
        check("device.attributes[\"gpu.example.com\"].index >= 4", false);
        check("device.capacity['gpu.example.com'].memory.compareTo(quantity('60Gi')) > 0", false);
        check("device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('39Gi'))", true);
        check("device.attributes['gpu.example.com'].version.isGreaterThan(semver('1.2.0'))", true);
        check("cel.bind(gpu, device.attributes['gpu.example.com'], gpu.ecc && gpu.index == 3)", true);
        check("has(device.attributes['gpu.example.com'].nothing)", false);
        check("'other.example.com' in device.attributes", false);
        check("device.attributes['gpu.example.com'].model in ['A1', 'B2']", true);
        check("device.attributes['gpu.example.com'].model.matches('^A[0-9]+$')", true);
        check("device.attributes['gpu.example.com'].?nothing.orValue('x') == 'x'", true);
        check("device.attributes['gpu.example.com'][?'model'].hasValue()", true);
        check("[1, 2, 3].exists(x, x > 2) && [1, 2, 3].all(x, x > 0) && [1, 2].exists_one(x, x == 1)", true);
        check("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", true);
        check("size('äö') == 2 && 'a' + 'b' == 'ab' && -7 / 2 == -3 && -7 % 2 == -1", true);
        check("true ? dyn(1) == 1.0 : false", true);
    }

    #[test]
    fn errors_are_those_of_cel() {
        let error = |text: &str| Err(CelError::Error(text.to_owned()));
        assert_eq!(run("device.attributes['gpu.example.com'].model.x == 1"), error("no such key: x"));
        assert_eq!(run("device.attributes['gpu.example.com'].version == 'x'"), error("no such overload"));
        assert_eq!(run("device.attributes['gpu.example.com'].version > 1"), error("no such overload: _>_"));
        assert_eq!(run("device.attributes['gpu.example.com'].index.size() == 1"), error("no such overload: size"));
        assert_eq!(run("'ab'.substring(3) == 'x'"), error("index out of range: 3"));
        assert_eq!(run("semver('1.2') == semver('1.2.0')"), error("No Major.Minor.Patch elements found"));
        assert_eq!(run("int(device.attributes['gpu.example.com'].model) == 1"), error("type conversion error from 'string' to 'int'"));
        assert_eq!(run("device.attributes['gpu.example.com'].nothing == 'x'"), error("no such key: nothing"));
        assert_eq!(run("device.attributes['other'].model == 'x'"), error("no such key: model"));
        assert_eq!(run("device.attributes['gpu.example.com'].model > 3"), error("no such overload"));
        assert_eq!(run("1 / 0 == 1"), error("division by zero"));
        assert_eq!(run("[1][4] == 1"), error("index out of bounds: 4"));
        check("device.attributes['other'].model == 'x' || true", true);
        check("device.attributes['other'].model == 'x' && false", false);
    }

    #[test]
    fn expressions_the_compiler_rejects() {
        let compile = |text: &str| Err::<Value, _>(CelError::Compile(text.to_owned()));
        assert_eq!(run("int('x') == 1"), compile("program instantiation failed: type conversion error from 'string' to 'int'"));
        let unknown = Expression::parse("true || device.nope == 1").unwrap().refuse_fields("device", &["driver"]);
        let message = "compilation failed: ERROR: <input>:1:15: undefined field 'nope'\n | true || device.nope == 1\n | ..............^";
        assert_eq!(unknown, Err(CelError::Compile(message.to_owned())));
        let pattern = "compilation failed: ERROR: <input>:1:13: invalid matches argument\n | 'a'.matches('*')\n | ............^";
        assert_eq!(run("'a'.matches('*')"), compile(pattern));
    }

    /// Limits of length, cost and memory stop an evaluation early and never yield a value.
    #[test]
    fn cel_refuses_expressions_over_its_limits() {
        let limited = |text: &str| match run(text) {
            Err(CelError::Limit(what)) => what,
            other => panic!("{:.60}: {other:?}", text),
        };
        let doubled = |first: &str, times: usize| format!("{first}{}", ".map(a, a + a)".repeat(times));
        assert!(limited(&doubled("[[1]]", 22)).starts_with("takes more than 32 MiB"));
        assert!(limited(&doubled("['x']", 30)).starts_with("costs more than 900000"));
        assert!(
            limited(&format!("'{}'{} == ''", "x".repeat(100), ".replace('', 'xxxxxxxxxxxxxxxxxxxx')".repeat(20)))
                .starts_with("takes more than")
        );
        assert_eq!(limited(&"!".repeat(100_000)), "is 100000 bytes long, more than the 10240 that the API server takes");
        assert!(matches!(run(&"!".repeat(10_000)), Err(CelError::Unsupported(_))));
        // Lists that share their elements are small, but take too long to traverse.
        let shared = format!("[1]{}", ".map(a, [a, a])".repeat(60));
        assert!(limited(&format!("cel.bind(x, {shared}, x == x)")).starts_with("compares more than"));
        assert!(limited(&format!("{}.size() > 0 || true", doubled("[[1]]", 22))).starts_with("takes more than"));
        assert!(limited(&format!("[1, 2].exists(i, {}.size() > 0 || i == 1)", doubled("[[1]]", 22))).starts_with("takes more than"));
        // Chains nest as deep as they are long.
        check(&format!("1{} == 391", " + 1".repeat(390)), true);
        check(&format!("[1]{} == [1]", ".map(a, a)".repeat(390)), true);
        check(&["true"; 390].join(" && "), true);
        // Below the limits there is a value: a million characters are created and counted.
        check(&format!("{}[0].size() == 65536", doubled("['x']", 16)), true);
    }

    /// Costs as `interpreter/runtimecost_test.go` of cel-go has them.
    #[test]
    fn costs_are_those_of_upstream() {
        let cost = |text: &str| Expression::parse(text).unwrap().cost(&[("device", device()), ("x", Value::Int(1)), ("y", Value::Int(2))]);
        for (text, wanted) in [
            ("1", 0),
            ("x", 1),
            ("x + y", 3),
            ("x == 1", 2),
            ("'abc' == 'abc'", 1),
            ("'12345678901' + '1'", 2),
            ("[x]", 11),
            ("[1, 2]", 0),
            ("{'a': x}", 31),
            ("x > 0 && y > 0", 4),
            ("x > 0 || y > 0", 2),
            ("x > 0 ? x : y", 2),
            ("x in [1, 2, 3]", 1),
            ("1 in [x, y]", 14),
            ("'a'.matches('a.*')", 1),
            ("'12345678901234567890'.contains('123456789012')", 4),
            ("[1, 2].all(i, i > 0)", 11),
            ("[1, 2].exists(i, i > 0)", 10),
            ("[1, 2].map(i, i)", 27),
            ("[1, 2].filter(i, i > 1)", 18),
            ("device.driver == 'gpu.example.com'", 4),
            ("device.attributes['gpu.example.com'].index", 4),
            ("has(device.driver)", 1),
        ] {
            assert_eq!(cost(text), wanted, "{text}");
        }
    }

    #[test]
    fn unmodelled_parts_are_reported() {
        assert!(matches!(run("url('https://x').getHost() == 'x'"), Err(CelError::Unsupported(_))));
        assert!(matches!(run("device.driver =="), Err(CelError::Unsupported(_))));
        // The compiler rejects these; its messages are not modelled.
        for refused in ["1 == 'a'", "1 + 'a' == 2", "!1", "1 ? true : false", "quantity('1') > quantity('2')", "[1, 'a'] == [1]"] {
            assert!(matches!(run(refused), Err(CelError::Unsupported(_))), "{refused}");
        }
        let mixed = "2 in [1, device.attributes['gpu.example.com'].index]";
        assert!(matches!(run(mixed), Err(CelError::Unsupported(_))));
        assert!(matches!(run(&"(".repeat(10_000)), Err(CelError::Unsupported(_))));
    }
}
