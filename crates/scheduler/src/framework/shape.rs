//! Arithmetic shared by the scores of resources and volumes.

/// A part of a whole on a scale, wrapping as Go's arithmetic does.
pub(crate) fn part(amount: i64, scale: i64, whole: i64) -> i64 {
    amount.wrapping_mul(scale).wrapping_div(whole)
}

/// The value of a piecewise linear function at `at`; upstream: `BuildBrokenLinearFunction`.
pub(crate) fn on_shape(shape: &[(i64, i64)], at: i64, stretch: i64) -> i64 {
    let Some((first, rest)) = shape.split_first() else { return 0 };
    if at <= first.0 {
        return first.1 * stretch;
    }
    let mut before = *first;
    for point in rest {
        if at <= point.0 {
            let (low, high) = (before.1 * stretch, point.1 * stretch);
            return low + (high - low) * (at - before.0) / (point.0 - before.0);
        }
        before = *point;
    }
    before.1 * stretch
}

#[cfg(test)]
mod tests {
    use super::on_shape;

    #[test]
    fn a_shape_is_piecewise_linear() {
        let shape = [(0, 0), (50, 10), (100, 5)];
        for (at, want) in [(0, 0), (25, 50), (50, 100), (75, 75), (100, 50), (120, 50)] {
            assert_eq!(on_shape(&shape, at, 10), want, "{at}");
        }
    }
}
