"use strict";
// Vectors (x, y, z), the faces of boxes, and colours.

function between(one, other, share) {
  return one.map((value, axis) => value + (other[axis] - value) * share);
}

function unit(vector) {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function distance(one, other) {
  return Math.hypot(...one.map((value, axis) => value - other[axis]));
}

// The faces of a box that is fixed to a car.
function boxFaces(car, box, size) {
  const right = cross(car.up, car.forward);
  const point = (along, aside, above) =>
    car.position.map((value, axis) => value + size * (along * car.forward[axis] + aside * right[axis] + above * car.up[axis]));
  const { front, back, side, low, high } = box;
  const square = (corners, normal) => {
    const points = corners.map((corner) => point(...corner));
    const middle = points[0].map((value, axis) => (value + points[2][axis]) / 2);
    return { corners: points, middle, normal };
  };
  const minus = (vector) => vector.map((value) => -value);
  return [
    square([[front, -side, high], [front, side, high], [back, side, high], [back, -side, high]], car.up),
    square([[front, -side, low], [front, side, low], [back, side, low], [back, -side, low]], minus(car.up)),
    square([[front, -side, low], [front, side, low], [front, side, high], [front, -side, high]], car.forward),
    square([[back, -side, low], [back, side, low], [back, side, high], [back, -side, high]], minus(car.forward)),
    square([[front, side, low], [back, side, low], [back, side, high], [front, side, high]], right),
    square([[front, -side, low], [back, -side, low], [back, -side, high], [front, -side, high]], minus(right)),
  ];
}

function dot(one, other) {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}

function cross([a, b, c], [d, e, f]) {
  return [b * f - c * e, c * d - a * f, a * e - b * d];
}

function parseColour(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

function rgb(colour, alpha = 1) {
  return `rgba(${colour.map(Math.round).join(", ")}, ${alpha})`;
}
