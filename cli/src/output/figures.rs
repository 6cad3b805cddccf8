//! Figures for people.

use std::time::Duration;

use windlass::Window;

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole, in percent.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / whole as f64) }
}

/// Bytes in the largest unit that leaves a whole number.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub(crate) fn memory(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = usize::from(value < 100.0 && unit != "bytes");
    format!("{value:.digits$} {unit}")
}

/// A time it took, and events per second in it.
pub(crate) fn seconds(time: Duration, events: u64) -> String {
    format!("{:.2} s, {}", time.as_secs_f64(), rate(time, events))
}

/// Events per second.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub(crate) fn rate(time: Duration, events: u64) -> String {
    match events as f64 / time.as_secs_f64().max(1e-9) {
        rate if rate >= 1e6 => format!("{:.1} M events/s", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.1} k events/s", rate / 1e3),
        rate => format!("{rate:.1} events/s"),
    }
}

/// A window in the largest unit that leaves a whole number.
pub(crate) fn window(window: Window) -> String {
    let ticks = window.ticks().unwrap_or(0);
    if window.counts_events() {
        return format!("{} events", count(ticks));
    }
    let units = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    let (unit, nanos) =
        units.into_iter().find(|(_, nanos)| ticks > 0 && ticks.is_multiple_of(*nanos)).unwrap_or(("ns", 1));
    format!("{}{unit}", ticks / nanos)
}

/// A time to the millisecond; one of its own, or since the start of the run.
pub(crate) fn time(nanos: u64, timed: bool) -> String {
    let since_1970 = jiff::Timestamp::from_nanosecond(nanos.into()).ok().filter(|_| timed);
    match since_1970 {
        Some(time) => format!("{time:.3}"),
        None => format!("{:.3} s after the start", Duration::from_nanos(nanos).as_secs_f64()),
    }
}

/// On one line, and not much longer than so many characters.
pub(crate) fn shown(name: &str, most: usize) -> String {
    let cut: String = name.chars().take(most).flat_map(char::escape_debug).collect();
    if name.chars().nth(most).is_some() { cut + "..." } else { cut }
}

/// As long as `part` is of `most`, with at least something for what is not nothing.
#[allow(clippy::cast_possible_truncation)] // not more than the width
pub(crate) fn bar(part: u64, most: u64, width: usize) -> String {
    let (part, most, all) = (u128::from(part.min(most)), u128::from(most.max(1)), width as u128);
    let long = (2 * part * all + most) / (2 * most);
    "#".repeat((long as usize).max(usize::from(part > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([(0, 0), (1, 8), (3, 3)].map(|(a, b)| share(a, b)), ["0 %", "12.5 %", "100.0 %"]);
        assert_eq!(
            [512, 1536, 40 << 20, 200 << 30].map(memory),
            ["512 bytes", "1.5 KiB", "40.0 MiB", "200 GiB"]
        );
        assert_eq!(seconds(Duration::from_millis(500), 1_000_000), "0.50 s, 2.0 M events/s");
        assert_eq!(seconds(Duration::from_secs(2), 10), "2.00 s, 5.0 events/s");
    }

    #[test]
    fn bars() {
        let lengths = [(0, 9), (1, 1000), (5, 10), (9, 10), (10, 10), (0, 0), (u64::MAX, u64::MAX)];
        assert_eq!(lengths.map(|(part, most)| bar(part, most, 10).len()), [0, 1, 5, 9, 10, 0, 10]);
    }

    #[test]
    fn windows() {
        let of = |nanos| window(Window::time(Duration::from_nanos(nanos)));
        assert_eq!([1, 1_500_000, 60_000_000_000, 90_000_000_000].map(of), ["1ns", "1500us", "1m", "90s"]);
        assert_eq!(window(Window::last_n(1000)), "1,000 events");
    }
}
