//! Plane shapes, in metres.

/// A shape that can be paved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Circle { radius: f64 },
    Rectangle { width: f64, height: f64 },
    Triangle { width: f64, height: f64 },
}

impl Shape {
    /// Square metres.
    pub fn area(&self) -> f64 {
        match self {
            Shape::Circle { radius } => std::f64::consts::PI * radius * radius,
            Shape::Rectangle { width, height } => width * height,
            Shape::Triangle { width, height } => width * height,
        }
    }

    /// The longest straight side; 0 where there is none.
    pub fn longest_side(&self) -> f64 {
        match self {
            Shape::Circle { .. } => 0.0,
            Shape::Rectangle { width, height } => width.max(*height),
            Shape::Triangle { width, height } => width.hypot(*height),
        }
    }
}
