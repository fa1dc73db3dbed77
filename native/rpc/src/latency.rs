//! Latency histograms of the methods that need no Python.

use std::time::Duration;

/// Calls by latency, since they were last taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Calls in each bucket; the last is above all bounds.
    pub buckets: Vec<u64>,
    /// The time of all together, in seconds.
    pub seconds: f64,
    /// How many of them failed, by the code of their error.
    pub errors: Vec<(i32, u64)>,
}

impl Latencies {
    /// Count a call; `bounds` are the upper bounds of the buckets, in seconds, and `code` is 0 unless it failed.
    pub fn observe(&mut self, bounds: &[f64], time: Duration, code: i32) {
        let seconds = time.as_secs_f64();
        self.buckets.resize(bounds.len() + 1, 0);
        self.buckets[bounds.partition_point(|bound| *bound < seconds)] += 1;
        self.seconds += seconds;
        if code != 0 {
            // There are as many codes as ways to fail, which are few.
            match self.errors.iter_mut().find(|(known, _)| *known == code) {
                Some((_, count)) => *count += 1,
                None => self.errors.push((code, 1)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_in_the_first_bucket_that_it_does_not_exceed() {
        let mut latencies = Latencies::default();
        for micros in [5, 10, 11, 2_000] {
            latencies.observe(&[0.000_01, 0.001], Duration::from_micros(micros), 0);
        }
        assert_eq!(latencies.buckets, [2, 1, 1]);
        assert_eq!(latencies.errors, []);
    }

    #[test]
    fn errors_count_by_code() {
        let mut latencies = Latencies::default();
        for code in [3, 0, -32000, 3] {
            latencies.observe(&[1.0], Duration::ZERO, code);
        }
        assert_eq!(latencies.buckets, [4, 0]);
        assert_eq!(latencies.errors, [(3, 2), (-32000, 1)]);
    }
}
