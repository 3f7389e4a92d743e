//! The roofline: each kernel by its arithmetic intensity and its rate, below the limits of the machine (Williams, Waterman and Patterson,
//! 2009).

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, place, short, tick};
use super::roles::{Roles, list, number};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 400.0;
/// The edges of the plot.
const LEFT: f64 = 64.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = WIDTH - 20.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// The room that a name above a line takes.
const NAME: f64 = 20.0;

/// The kernels with a number in the picture: the first of the table below it.
const NUMBERED: usize = 9;

/// A kernel in the picture.
struct Point<'a> {
    row: &'a Value,
    /// Multiplications per byte.
    intensity: f64,
    /// Multiplications per second.
    rate: f64,
}

/// The limits of the machine; NaN if not measured.
struct Roofs {
    /// Memory bandwidth, bytes per second.
    read: f64,
    /// Multiplications per second of 8-bit integers, and of `f32`.
    dot: f64,
    floats: f64,
}

/// Writes the picture, if memory was measured and some kernel reads and multiplies.
pub(super) fn write(results: &Value, roles: &Roles<'_>, out: &mut String) -> fmt::Result {
    let roof = |name: &str| number(&results["roofs"][name]["median"]);
    let positive = |rate: f64| if rate > 0.0 { rate } else { f64::NAN };
    let roofs = Roofs {
        read: positive(roof("read_bytes_per_second")),
        dot: positive(roof("dot_multiplications_per_second")),
        floats: positive(roof("mul_add_multiplications_per_second")),
    };
    let kernels = list(results, "kernels");
    let points: Vec<(usize, Point<'_>)> =
        kernels.iter().enumerate().filter_map(|(at, row)| Some((at, Point::of(row)?))).collect();
    if roofs.read.is_nan() || points.is_empty() {
        return Ok(());
    }
    let all = |of: fn(&Point<'_>) -> f64| points.iter().map(move |(_, point)| of(point));
    // Whole powers of ten around all kernels and the last ridge, where the roofs meet.
    let x = decades(all(|p| p.intensity).chain([roofs.most() / roofs.read]));
    let y = decades(all(|p| p.rate).chain([roofs.most()]));
    let at_x = |value: f64| LEFT + place(value.log10(), x, RIGHT - LEFT);
    let at_y = |value: f64| BOTTOM - place(value.log10(), y, BOTTOM - TOP);
    let multiplies = match roofs.dot {
        dot if dot.is_nan() => String::new(),
        dot => format!(" and multiplies {} times per second", short(dot)),
    };
    let words = format!(
        "Roofline: the machine reads {}B/s{multiplies}; {} kernels are below",
        short(roofs.read),
        points.len()
    );
    write!(
        out,
        "<h3>Roofline</h3>\n<p class=\"soft\">Larger circles take longer. A kernel on a line is as fast as the machine allows.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Roofline\">\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{}\">",
        Escaped(&words)
    )?;
    for power in x[0] as i32..=x[1] as i32 {
        let (value, px) = (10f64.powi(power), at_x(10f64.powi(power)));
        write!(
            out,
            "<line class=\"axis\" x1=\"{px:.1}\" x2=\"{px:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text x=\"{px:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 17.0,
            tick(value)
        )?;
    }
    for power in y[0] as i32..=y[1] as i32 {
        let (value, py) = (10f64.powi(power), at_y(10f64.powi(power)));
        write!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{py:.1}\" y2=\"{py:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            py + 4.0,
            tick(value)
        )?;
    }
    write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">multiplications per byte of weights and cache</text>\
         <text transform=\"translate(13 {:.1}) rotate(-90)\" text-anchor=\"middle\">multiplications per second</text>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 6.0,
        (TOP + BOTTOM) / 2.0
    )?;
    // The numbers of kernels keep away from the names of roofs.
    let mut labels = roofs.write([x, y], out)?;
    let longest = points.iter().map(|(_, point)| number(&point.row["ms"])).fold(0.0, f64::max);
    // The area is the time.
    let radius = |point: &Point<'_>| 3.0 + 13.0 * (number(&point.row["ms"]) / longest).max(0.0).sqrt();
    let circles: Vec<[f64; 3]> =
        points.iter().map(|(_, point)| [at_x(point.intensity), at_y(point.rate), radius(point)]).collect();
    for (at, point) in &points {
        let text = |name: &str| point.row[name].as_str().unwrap_or("?");
        let (px, py) = (at_x(point.intensity), at_y(point.rate));
        let radius = radius(point);
        let title = format!(
            "{}. {}: {} ms, {} per second",
            at + 1,
            text("kernel"),
            short(number(&point.row["ms"])),
            short(point.rate)
        );
        write!(
            out,
            "<circle class=\"{}\" fill-opacity=\".7\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
            roles.class(text("role")),
            Escaped(&title)
        )?;
        if *at < NUMBERED {
            let [x, y] = free_place([px, py, radius], &labels, &circles);
            labels.push([x, y]);
            write!(
                out,
                "<text class=\"ink\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                y + 4.0,
                at + 1
            )?;
        }
    }
    out.write_str("</svg>\n</div>\n")
}

/// The width of a character of a label, roughly.
const CHARACTER: f64 = 6.5;

/// Writes the name of a roof, of which this is the end of the base line. Returns points that cover it.
fn write_name(name: &str, [x, y]: [f64; 2], out: &mut String) -> Result<Vec<[f64; 2]>, fmt::Error> {
    write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>")?;
    let width = CHARACTER * name.chars().count() as f64;
    let points = (width / 12.0).ceil().max(1.0) as usize;
    Ok((0..=points).map(|i| [x - width * i as f64 / points as f64, y - 4.0]).collect())
}

/// The place of a number beside a circle: the nearest in the plot that covers no other number, and no circle if there is room.
fn free_place([x, y, radius]: [f64; 3], taken: &[[f64; 2]], circles: &[[f64; 3]]) -> [f64; 2] {
    // Right, left, above, below and between, then farther out.
    const AROUND: [[f64; 2]; 8] = [
        [1.0, 0.0],
        [-1.0, 0.0],
        [0.0, -1.0],
        [0.0, 1.0],
        [0.7, -0.7],
        [0.7, 0.7],
        [-0.7, -0.7],
        [-0.7, 0.7],
    ];
    let places = || {
        let rings = (0..6).map(|ring| radius + 8.0 + 13.0 * f64::from(ring));
        rings.flat_map(|r| AROUND.map(|[dx, dy]| [x + r * dx, y + r * dy]))
    };
    let is_free = |[x, y]: &[f64; 2]| {
        let inside = (LEFT + 6.0..RIGHT - 6.0).contains(x) && (TOP + 6.0..BOTTOM - 6.0).contains(y);
        inside && taken.iter().all(|[a, b]| (a - x).abs() >= 13.0 || (b - y).abs() >= 13.0)
    };
    let is_clear = |[x, y]: &[f64; 2]| circles.iter().all(|[a, b, r]| (a - x).hypot(b - y) >= r + 6.0);
    let clear = places().find(|place| is_free(place) && is_clear(place));
    clear.or_else(|| places().find(is_free)).unwrap_or([x + radius + 8.0, y])
}

impl Roofs {
    /// The highest rate of multiplications; NaN if none was measured.
    fn most(&self) -> f64 {
        self.dot.max(self.floats)
    }

    /// Draws the roofs. Returns points that cover their names.
    fn write(&self, [x, y]: [[f64; 2]; 2], out: &mut String) -> Result<Vec<[f64; 2]>, fmt::Error> {
        let Roofs { read, dot, floats } = *self;
        let at_x = |value: f64| LEFT + place(value.log10(), x, RIGHT - LEFT);
        let at_y = |value: f64| BOTTOM - place(value.log10(), y, BOTTOM - TOP);
        // The memory roof goes from the left or bottom edge to the last ridge, or to the right or top edge if
        // there is no other roof.
        let from = 10f64.powf(x[0]).max(10f64.powf(y[0]) / read);
        let most = self.most();
        let to = if most.is_nan() { 10f64.powf(x[1]).min(10f64.powf(y[1]) / read) } else { most / read };
        write!(
            out,
            "<path class=\"roof\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            at_x(from),
            at_y(read * from),
            at_x(to),
            at_y(read * to)
        )?;
        let middle = (from * to).sqrt();
        let place = [at_x(middle) - 8.0, at_y(read * middle) - 6.0];
        let mut covered = write_name(&format!("memory, {}B/s", short(read)), place, out)?;
        for (rate, other, name, dashes) in
            [(dot, floats, "8-bit integers", ""), (floats, dot, "f32", " stroke-dasharray=\"5 4\"")]
        {
            if rate.is_nan() {
                continue;
            }
            let (left, line) = (at_x(rate / read), at_y(rate));
            write!(out, "<path class=\"roof\"{dashes} d=\"M{left:.1} {line:.1}H{RIGHT}\"/>")?;
            // Where the lines are close together, the lower one's name is below it.
            let is_lower = rate < other || (rate == other && dashes.is_empty());
            let below = is_lower && line - at_y(other) < NAME;
            let place = [RIGHT, line + if below { 14.0 } else { -6.0 }];
            covered.extend(write_name(&format!("{name}, {} per second", short(rate)), place, out)?);
        }
        Ok(covered)
    }
}

impl Point<'_> {
    fn of(row: &Value) -> Option<Point<'_>> {
        let bytes = number(&row["weight_bytes"]) + number(&row["state_bytes"]);
        let multiplications = number(&row["integer_multiplications"]) + number(&row["float_multiplications"]);
        let (intensity, rate) = (multiplications / bytes, number(&row["multiplications_per_second"]));
        let drawn = intensity.is_finite() && intensity > 0.0 && rate.is_finite() && rate > 0.0;
        drawn.then_some(Point { row, intensity, rate })
    }
}

/// The logarithms of the powers of ten around some values, at most six decades apart.
fn decades(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let top = most.log10().ceil();
    // Kernels a million times slower are drawn at the edge.
    [least.log10().floor().max(top - 6.0).min(top - 1.0), top]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_cover_each_other() {
        let mut taken = Vec::new();
        // Twenty circles in the same place, and one in each corner.
        let corners = [[LEFT, TOP], [RIGHT, TOP], [LEFT, BOTTOM], [RIGHT, BOTTOM]];
        for place in std::iter::repeat_n([400.0, 200.0], 20).chain(corners) {
            let found = free_place([place[0], place[1], 5.0], &taken, &[[400.0, 200.0, 5.0]]);
            let covers = |[x, y]: &[f64; 2]| (x - found[0]).abs() < 13.0 && (y - found[1]).abs() < 13.0;
            assert!(!taken.iter().any(covers), "{found:?} of {taken:?}");
            assert!((LEFT..RIGHT).contains(&found[0]) && (TOP..BOTTOM).contains(&found[1]));
            taken.push(found);
        }
    }

    /// The names of roofs with their boxes: left, top, right, bottom.
    fn names(roofs: &Roofs) -> Vec<(String, [f64; 4])> {
        let mut out = String::new();
        let covered = roofs.write([[-1.0, 3.0], [8.0, 12.0]], &mut out).unwrap();
        let texts = out.split("<text ").skip(1).map(|tag| {
            let figure = |name: &str| -> f64 {
                let rest = tag.split(&format!("{name}=\"")).nth(1).unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            };
            let name = tag.split('>').nth(1).unwrap().split('<').next().unwrap().to_string();
            let (x, y, width) = (figure("x"), figure("y"), CHARACTER * name.chars().count() as f64);
            assert!(covered.iter().any(|[a, b]| (a - x).abs() < 7.0 && (b - y).abs() < 7.0), "{name}");
            (name, [x - width, y - 10.0, x, y + 3.0])
        });
        texts.collect()
    }

    #[test]
    fn names_of_roofs_do_not_cover_each_other() {
        // Either may be the faster one, by any factor or none.
        for factor in [0.01, 0.3, 0.8, 0.914, 0.99, 1.0, 1.01, 1.094, 1.3, 4.0, 100.0] {
            let names = names(&Roofs { read: 29e9, dot: 45.4e9, floats: 45.4e9 * factor });
            assert_eq!(names.len(), 3);
            for (at, (name, a)) in names.iter().enumerate() {
                for (other, b) in &names[at + 1..] {
                    let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                    assert!(apart, "{factor}: {name} {a:?} and {other} {b:?}");
                }
            }
        }
    }

    #[test]
    fn axes_end_at_powers_of_ten() {
        assert_eq!(decades([0.5, 20.0].into_iter()), [-1.0, 2.0]);
        assert_eq!(decades([10.0, 10.0].into_iter()), [0.0, 1.0]);
        assert_eq!(decades([1e-9, 100.0].into_iter()), [-4.0, 2.0]);
    }
}
