//! Latency histograms of the methods that need no Python.

use std::time::Duration;

/// Calls by latency, since they were last taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Calls in each bucket; the last is above all bounds.
    pub buckets: Vec<u64>,
    /// The time of all together, in seconds.
    pub seconds: f64,
}

impl Latencies {
    /// Count a call; `bounds` are the upper bounds of the buckets, in seconds.
    pub fn observe(&mut self, bounds: &[f64], time: Duration) {
        let seconds = time.as_secs_f64();
        self.buckets.resize(bounds.len() + 1, 0);
        self.buckets[bounds.partition_point(|bound| *bound < seconds)] += 1;
        self.seconds += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_in_the_first_bucket_that_it_does_not_exceed() {
        let mut latencies = Latencies::default();
        for micros in [5, 10, 11, 2_000] {
            latencies.observe(&[0.000_01, 0.001], Duration::from_micros(micros));
        }
        assert_eq!(latencies.buckets, [2, 1, 1]);
    }
}
