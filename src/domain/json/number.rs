//! Owns numbers: a number is its text (pipeline: Lossless JSON), and what can be asked of it.
//!
//! Imports [`super::error`] and [`Limits`]. Must not normalise: `-0`, `1.0` and `1E2` stay as they
//! were written.

use std::fmt;

use super::Limits;
use super::error::{Fault, ReadError, ReadErrorKind};

/// A JSON number, kept as its text. Equal when the texts are equal: `1` and `1.0` differ.
///
/// Every `Number` satisfies the grammar of RFC 8259 and [`Limits::default`] or the limits it was
/// read under. Up to 22 bytes it lives inline, so most numbers cost no allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Text);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Text {
    /// Zeros after `length`, so that equality of the parts is equality of the texts.
    Inline {
        length: u8,
        bytes: [u8; INLINE],
    },
    Long(Box<str>),
}

const INLINE: usize = 22;

/// A float that is no JSON number: an infinity, or not a number at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a JSON number")]
pub struct NotFinite(&'static str);

impl Number {
    /// Reads exactly one number, without white space around it, under [`Limits::default`].
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let fault = |kind, at| Fault::new(kind, at).locate(text.as_bytes());
        let unexpected = |expected, at| {
            let is_end = at == text.len();
            let end = ReadErrorKind::UnexpectedEnd { expected };
            fault(
                if is_end {
                    end
                } else {
                    ReadErrorKind::Syntax { expected }
                },
                at,
            )
        };
        let shape = scan(text.as_bytes()).map_err(|at| unexpected("a digit", at))?;
        if shape.length != text.len() {
            return Err(unexpected("nothing after the number", shape.length));
        }
        Self::judged(text, shape, &Limits::default()).map_err(|kind| fault(kind, 0))
    }

    /// The number that `text` spells, if it can be kept under `limits`.
    pub(super) fn judged(text: &str, shape: Shape, limits: &Limits) -> Result<Self, ReadErrorKind> {
        judge(text, shape, limits)?;
        Ok(Self::kept(text))
    }

    /// `text` must satisfy the grammar.
    fn kept(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        let inline = bytes
            .get_mut(..text.len())
            .zip(u8::try_from(text.len()).ok());
        Self(match inline {
            Some((front, length)) => {
                front.copy_from_slice(text.as_bytes());
                Text::Inline { length, bytes }
            }
            None => Text::Long(text.into()),
        })
    }

    /// The text, as written.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Inline { length, bytes } => {
                let text = bytes.get(..usize::from(*length)).unwrap_or_default();
                // never the fallback: the bytes came from a `str`
                std::str::from_utf8(text).unwrap_or("0")
            }
            Text::Long(text) => text,
        }
    }

    /// The exact value, when it is integral and fits: `1.0` is 1, `1E2` is 100, `-0` is 0.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_str()
            .parse()
            .ok()
            .or_else(|| i64::try_from(self.as_i128()?).ok())
    }

    /// The exact value, when it is integral, not negative and fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_str()
            .parse()
            .ok()
            .or_else(|| u64::try_from(self.as_i128()?).ok())
    }

    /// The nearest float; nothing when that is infinite (an integer of more than 308 digits).
    pub fn as_f64(&self) -> Option<f64> {
        self.as_str()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
    }

    /// Whether the value has no fractional part, however it is written: JSON Schema's `integer`.
    pub fn is_integral(&self) -> bool {
        Decimal::of(self.as_str()).is_some_and(Decimal::is_integral)
    }

    /// Whether it is written without a fraction and without an exponent.
    pub(super) fn is_plain(&self) -> bool {
        !self.as_str().contains(['.', 'e', 'E'])
    }

    /// The exact value, when it is integral and fits.
    pub(super) fn as_i128(&self) -> Option<i128> {
        Decimal::of(self.as_str())?.integer()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Self::kept(&value.to_string())
            }
        }
    )*};
}

from_integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

/// The shortest text that reads back as the same float.
impl TryFrom<f64> for Number {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        if !value.is_finite() {
            return Err(NotFinite(if value.is_nan() {
                "NaN"
            } else {
                "an infinity"
            }));
        }
        // below this the short form has an exponent that the reader refuses
        let needs_plain_form = value != 0.0 && value.abs() < 1e-308;
        let text = if needs_plain_form {
            value.to_string()
        } else {
            format!("{value:?}")
        };
        Ok(Self::kept(&text))
    }
}

/// The shortest text that reads back as the same 32-bit float.
impl TryFrom<f32> for Number {
    type Error = NotFinite;

    fn try_from(value: f32) -> Result<Self, NotFinite> {
        Self::try_from(f64::from(value))?;
        Ok(Self::kept(&format!("{value:?}")))
    }
}

/// Where the parts of a number's text end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    integer_end: usize,
    mantissa_end: usize,
    /// Length of the whole number in bytes.
    pub(super) length: usize,
}

/// Finds the number at the front of `bytes` (RFC 8259, section 6). The error is the offset where a
/// digit is missing.
pub(super) fn scan(bytes: &[u8]) -> Result<Shape, usize> {
    let start = usize::from(bytes.first() == Some(&b'-'));
    let integer_end = match bytes.get(start) {
        Some(b'0') => start + 1,
        Some(_) | None => digits(bytes, start)?,
    };
    let mantissa_end = match bytes.get(integer_end) {
        Some(b'.') => digits(bytes, integer_end + 1)?,
        Some(_) | None => integer_end,
    };
    let length = match bytes.get(mantissa_end) {
        Some(b'e' | b'E') => {
            let signed = matches!(bytes.get(mantissa_end + 1), Some(b'+' | b'-'));
            digits(bytes, mantissa_end + 1 + usize::from(signed))?
        }
        Some(_) | None => mantissa_end,
    };
    Ok(Shape {
        integer_end,
        mantissa_end,
        length,
    })
}

/// The end of the run of digits at `from`; an error when there is none.
fn digits(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let rest = bytes.get(from..).unwrap_or_default();
    let run = rest
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(rest.len());
    if run == 0 { Err(from) } else { Ok(from + run) }
}

/// Whether the number can be kept. Plain integers are bounded by their digits alone (they are
/// exact however long); the other forms must also have a value that a float can tell from zero and
/// from infinity.
fn judge(text: &str, shape: Shape, limits: &Limits) -> Result<(), ReadErrorKind> {
    let count = || text.bytes().filter(u8::is_ascii_digit).count();
    if text.len() > limits.max_digits && count() > limits.max_digits {
        return Err(ReadErrorKind::NumberTooLong);
    }
    let has_exponent = shape.length > shape.mantissa_end;
    // 300 digits reach neither infinity nor zero without an exponent
    let is_safe = shape.length == shape.integer_end || (!has_exponent && text.len() < 300);
    if is_safe {
        return Ok(());
    }
    let is_beyond = Decimal::parse(text, shape)
        .is_none_or(|decimal| decimal.exponent.unsigned_abs() > limits.max_exponent);
    let value: f64 = text.parse().unwrap_or(f64::INFINITY);
    let mantissa = text.get(..shape.mantissa_end).unwrap_or_default();
    let underflows = value == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if is_beyond || underflows || value.is_infinite() {
        return Err(ReadErrorKind::NumberOutOfRange);
    }
    Ok(())
}

/// The parts of a number's text: `(-) integer . fraction × 10^exponent`.
#[derive(Clone, Copy)]
struct Decimal<'t> {
    negative: bool,
    integer: &'t str,
    fraction: &'t str,
    exponent: i32,
}

impl<'t> Decimal<'t> {
    fn of(text: &'t str) -> Option<Self> {
        Self::parse(text, scan(text.as_bytes()).ok()?)
    }

    /// Nothing when the exponent does not fit 32 bits.
    fn parse(text: &'t str, shape: Shape) -> Option<Self> {
        let negative = text.starts_with('-');
        let exponent = text.get(shape.mantissa_end..)?;
        Some(Self {
            negative,
            integer: text.get(usize::from(negative)..shape.integer_end)?,
            fraction: text
                .get(shape.integer_end..shape.mantissa_end)?
                .trim_start_matches('.'),
            exponent: match exponent.strip_prefix(['e', 'E']) {
                Some(digits) => digits.parse().ok()?,
                None => 0,
            },
        })
    }

    fn digits(self) -> impl DoubleEndedIterator<Item = u8> + 't {
        self.integer.bytes().chain(self.fraction.bytes())
    }

    fn is_zero(self) -> bool {
        self.digits().all(|digit| digit == b'0')
    }

    /// How many digits at the end lie behind the decimal point once the exponent is applied;
    /// negative: how many zeros are missing before it.
    fn scale(self) -> i64 {
        i64::try_from(self.fraction.len()).unwrap_or(i64::MAX) - i64::from(self.exponent)
    }

    fn is_integral(self) -> bool {
        let zeros = self
            .digits()
            .rev()
            .take_while(|digit| *digit == b'0')
            .count();
        self.is_zero() || i64::try_from(zeros).is_ok_and(|zeros| self.scale() <= zeros)
    }

    fn integer(self) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        if !self.is_integral() {
            return None;
        }
        let scale = self.scale();
        let kept = self.digits().count() - usize::try_from(scale.max(0)).ok()?;
        let zeros = usize::try_from((-scale).max(0)).ok()?;
        let digits = self
            .digits()
            .take(kept)
            .chain(std::iter::repeat_n(b'0', zeros));
        let magnitude = digits.into_iter().try_fold(0_i128, |value, digit| {
            let digit = i128::from(digit - b'0');
            let digit = if self.negative { -digit } else { digit };
            value.checked_mul(10)?.checked_add(digit)
        })?;
        Some(magnitude)
    }
}
