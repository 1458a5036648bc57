"use strict";
// Draws a moment of a match from above and, below that and to the same scale, from the side.

const BALL_RADIUS = 91.25;
const ENLARGED = 1.75; // cars and ball, so that they are seen on a small screen
const BODY = { front: 72, back: -46, side: 42, low: -16, high: 12 }; // of a car, from its centre
const CABIN = { front: 22, back: -34, side: 31, low: 12, high: 34 };
const MARGIN = 260; // uu around the field
const GAP = 520; // uu between the two views
const LIGHT = [-0.35, -0.35, 0.87];
const TRAIL = 0.9; // seconds
const FLASH = 0.45; // seconds that a touch is shown

// A view: where a point (x, y, z) is on the plane, how near it is to the viewer, and the direction to the viewer.
const TOP = { flat: ([x, y]) => [y, -x], depth: ([, , z]) => z, viewer: [0, 0, 1] };
const SIDE = { flat: ([, y, z]) => [y, -z], depth: ([x]) => -x, viewer: [-1, 0, 0] };

function plan(field) {
  const halfWidth = field.goal_back + MARGIN;
  const topHeight = 2 * field.side + 2 * MARGIN;
  return {
    width: 2 * halfWidth,
    height: topHeight + GAP + field.height,
    top: { ...TOP, origin: [halfWidth, field.side + MARGIN] },
    side: { ...SIDE, origin: [halfWidth, topHeight + GAP + field.height - MARGIN] },
  };
}

class Scene {
  constructor(canvas, recording) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.recording = recording;
    this.field = recording.header.field;
    this.plan = plan(this.field);
    this.still = document.createElement("canvas"); // what does not move
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = {};
    for (const name of ["turf", "stripe", "line", "wall", "ink", "halo", "pad", "ball", "glass", "shadow"]) {
      this.colours[name] = read(name);
    }
    this.sides = [read("blue"), read("orange")].map(parseColour);
    this.stale = true;
  }

  // Fits the canvas into its box, in the pixels of the screen.
  resize() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const scale = Math.max(Math.min(box.width / this.plan.width, box.height / this.plan.height), 0.02);
    const [width, height] = [this.plan.width * scale, this.plan.height * scale];
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    for (const canvas of [this.canvas, this.still]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.scale = this.canvas.width / this.plan.width; // pixels of the screen per uu
    this.pixel = ratio / this.scale; // uu per pixel of the page
    this.stale = true;
  }

  draw(time) {
    const moment = momentAt(this.recording, time);
    if (this.stale) this.drawStill();
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.still, 0, 0);
    for (const view of [this.plan.top, this.plan.side]) {
      context.setTransform(this.scale, 0, 0, this.scale, view.origin[0] * this.scale, view.origin[1] * this.scale);
      if (view.viewer[2]) {
        this.drawPads(moment.pads);
        this.drawShadows(moment);
      }
      this.drawTrails(view, time);
      this.drawFlash(view, moment);
      this.drawBodies(view, moment);
      if (view.viewer[2]) this.drawNames(moment);
    }
    return moment;
  }

  drawStill() {
    const context = this.still.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.still.width, this.still.height);
    for (const view of [this.plan.top, this.plan.side]) {
      context.setTransform(this.scale, 0, 0, this.scale, view.origin[0] * this.scale, view.origin[1] * this.scale);
      if (view.viewer[2]) this.drawTurf(context);
      else this.drawElevation(context);
    }
    this.stale = false;
  }

  drawTurf(context) {
    const { side, back, corner, goal_side: goal, goal_back: net } = this.field;
    const outline = new Path2D();
    const [cornerY, cornerX] = [corner - side, corner - back];
    const points = [
      [-back, -cornerX], [-cornerY, -side], [cornerY, -side], [back, -cornerX], [back, -goal], [net, -goal], [net, goal],
      [back, goal], [back, cornerX], [cornerY, side], [-cornerY, side], [-back, cornerX], [-back, goal], [-net, goal],
      [-net, -goal], [-back, -goal],
    ];
    points.forEach(([x, y], place) => (place ? outline.lineTo(x, y) : outline.moveTo(x, y)));
    outline.closePath();
    context.save();
    context.clip(outline);
    context.fillStyle = this.colours.turf;
    context.fillRect(-net, -side, 2 * net, 2 * side);
    context.fillStyle = this.colours.stripe;
    for (let x = -back; x < back; x += 2048) context.fillRect(x, -side, 1024, 2 * side);
    for (const end of [0, 1]) {
      const sign = end ? 1 : -1;
      const tint = context.createLinearGradient(sign * net, 0, sign * 1500, 0);
      tint.addColorStop(0, rgb(this.sides[end], 0.34));
      tint.addColorStop(1, rgb(this.sides[end], 0));
      context.fillStyle = tint;
      context.fillRect(end ? 0 : -net, -side, net, 2 * side);
      context.fillStyle = rgb(this.sides[end], 0.28);
      context.fillRect(end ? back : -net, -goal, net - back, 2 * goal);
    }
    context.restore();
    context.strokeStyle = this.colours.line;
    context.lineWidth = Math.max(18, this.pixel);
    context.beginPath();
    context.moveTo(0, -side);
    context.lineTo(0, side);
    context.moveTo(1000, 0);
    context.arc(0, 0, 1000, 0, 2 * Math.PI);
    for (const sign of [-1, 1]) context.rect(sign > 0 ? back - 1100 : -back, -1700, 1100, 3400);
    context.stroke();
    context.strokeStyle = this.colours.wall;
    context.lineWidth = Math.max(34, 1.5 * this.pixel);
    context.lineJoin = "round";
    context.stroke(outline);
    for (const end of [0, 1]) {
      context.strokeStyle = rgb(this.sides[end]);
      context.lineWidth = Math.max(50, 2.5 * this.pixel);
      context.beginPath();
      context.moveTo(end ? back : -back, -goal);
      context.lineTo(end ? back : -back, goal);
      context.stroke();
    }
  }

  drawElevation(context) {
    const { back, height, goal_back: net, goal_height: bar } = this.field;
    context.fillStyle = this.colours.turf;
    context.fillRect(-back, -height, 2 * back, height);
    for (const end of [0, 1]) {
      context.fillStyle = rgb(this.sides[end], 0.28);
      context.fillRect(end ? back : -net, -bar, net - back, bar);
    }
    context.strokeStyle = this.colours.line;
    context.lineWidth = Math.max(14, this.pixel);
    context.beginPath();
    for (const z of [500, 1000, 1500]) {
      context.moveTo(-back, -z);
      context.lineTo(back, -z);
    }
    context.stroke();
    context.strokeStyle = this.colours.wall;
    context.lineWidth = Math.max(34, 1.5 * this.pixel);
    context.strokeRect(-back, -height, 2 * back, height);
    for (const end of [0, 1]) {
      context.strokeStyle = rgb(this.sides[end]);
      context.lineWidth = Math.max(50, 2.5 * this.pixel);
      context.strokeRect(end ? back : -net, -bar, net - back, bar);
    }
    context.fillStyle = this.colours.ink;
    context.globalAlpha = 0.55;
    context.font = `${10 * this.pixel}px system-ui, sans-serif`;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    for (const z of [500, 1000, 1500]) context.fillText(`${z}`, -back + 4 * this.pixel, -z - this.pixel);
    context.globalAlpha = 1;
  }

  drawPads(ready) {
    const { context } = this;
    this.recording.header.pads.forEach(([x, y, big], pad) => {
      const [across, down] = TOP.flat([x, y, 0]);
      context.beginPath();
      context.arc(across, down, big ? 150 : 62, 0, 2 * Math.PI);
      context.globalAlpha = ready[pad] ? 0.85 : 0.4;
      if (ready[pad]) {
        context.fillStyle = this.colours.pad;
        context.fill();
      } else {
        context.strokeStyle = this.colours.pad;
        context.lineWidth = Math.max(16, this.pixel);
        context.stroke();
      }
    });
    context.globalAlpha = 1;
  }

  // What is higher throws its shadow farther, and a fainter one.
  drawShadows(moment) {
    const { context } = this;
    context.fillStyle = this.colours.shadow;
    const bodies = moment.cars.filter((car) => !car.demolished).map((car) => [car.position, 62]);
    for (const [position, radius] of [...bodies, [moment.ball, BALL_RADIUS]]) {
      const height = Math.max(position[2], 0);
      const [across, down] = TOP.flat(position);
      context.globalAlpha = 0.5 / (1 + height / 900);
      context.beginPath();
      const grown = radius * ENLARGED * (1 + height / 5000);
      context.ellipse(across + 0.16 * height, down + 0.16 * height, grown, 0.86 * grown, 0, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  drawTrails(view, time) {
    const { context, recording } = this;
    const last = frameAt(recording, time);
    const trail = (values, colour, width) => {
      context.lineCap = "round";
      for (let frame = last; frame > 0 && time - recording.time[frame] < TRAIL; frame--) {
        const [from, to] = [vectorAt(values, frame - 1), vectorAt(values, frame)];
        if (distance(from, to) > JUMP) break;
        context.globalAlpha = 0.5 * (1 - (time - recording.time[frame]) / TRAIL);
        context.strokeStyle = colour;
        context.lineWidth = width * context.globalAlpha;
        context.beginPath();
        context.moveTo(...view.flat(from));
        context.lineTo(...view.flat(to));
        context.stroke();
      }
      context.globalAlpha = 1;
    };
    trail(recording.ball, this.colours.ball, 210);
    recording.cars.forEach((car, seat) => {
      const fast = hasFlag(recording, seat, last, "supersonic");
      if (!hasFlag(recording, seat, last, "demolished")) trail(car.position, rgb(this.sides[seat % 2]), fast ? 200 : 90);
    });
  }

  drawFlash(view, moment) {
    const touch = lastTouch(this.recording, moment.time);
    const age = touch ? (moment.time - touch.time) / FLASH : 1;
    if (age >= 1) return;
    const { context } = this;
    context.globalAlpha = 1 - age;
    context.strokeStyle = rgb(this.sides[touch.seat % 2]);
    context.lineWidth = Math.max(40, 2 * this.pixel);
    context.beginPath();
    context.arc(...view.flat(vectorAt(this.recording.ball, touch.frame)), BALL_RADIUS * (1.6 + 3 * age), 0, 2 * Math.PI);
    context.stroke();
    context.globalAlpha = 1;
  }

  // Cars and ball, the farthest first.
  drawBodies(view, moment) {
    const bodies = moment.cars.map((car) => ({ depth: view.depth(car.position), draw: () => this.drawCar(view, car, moment) }));
    bodies.push({ depth: view.depth(moment.ball), draw: () => this.drawBall(view, moment.ball) });
    bodies.sort((one, other) => one.depth - other.depth).forEach((body) => body.draw());
  }

  drawBall(view, position) {
    const { context } = this;
    const [across, down] = view.flat(position);
    const radius = BALL_RADIUS * this.growth(view, position);
    const shine = context.createRadialGradient(across - radius / 3, down - radius / 3, radius / 8, across, down, radius);
    shine.addColorStop(0, "#ffffff");
    shine.addColorStop(1, this.colours.ball);
    context.beginPath();
    context.arc(across, down, radius, 0, 2 * Math.PI);
    context.fillStyle = shine;
    context.fill();
    context.strokeStyle = this.colours.halo;
    context.lineWidth = Math.max(14, this.pixel);
    context.stroke();
  }

  drawCar(view, car, moment) {
    const { context } = this;
    const [across, down] = view.flat(car.position);
    if (car.demolished) {
      const arm = 90;
      context.strokeStyle = rgb(this.sides[car.side], 0.8);
      context.lineWidth = Math.max(30, 2 * this.pixel);
      context.beginPath();
      context.moveTo(across - arm, down - arm);
      context.lineTo(across + arm, down + arm);
      context.moveTo(across + arm, down - arm);
      context.lineTo(across - arm, down + arm);
      context.stroke();
      return;
    }
    const size = this.growth(view, car.position);
    if (car.boosting) this.drawFlame(view, car, size, moment.time);
    const faces = [...boxFaces(car, BODY, size), ...boxFaces(car, CABIN, size).map((face) => ({ ...face, glass: true }))];
    const seen = faces.filter((face) => dot(face.normal, view.viewer) > 0.02);
    seen.sort((one, other) => view.depth(one.middle) - view.depth(other.middle));
    for (const face of seen) {
      context.beginPath();
      face.corners.forEach((corner, place) => context[place ? "lineTo" : "moveTo"](...view.flat(corner)));
      context.closePath();
      const light = 0.62 + 0.45 * Math.max(dot(face.normal, LIGHT), 0);
      context.fillStyle = face.glass ? this.colours.glass : rgb(this.sides[car.side].map((value) => Math.min(value * light, 255)));
      context.fill();
      context.strokeStyle = this.colours.halo;
      context.lineWidth = Math.max(6, 0.6 * this.pixel);
      context.stroke();
    }
    if (view.viewer[2]) this.drawBoost(across, down, size, car);
  }

  drawFlame(view, car, size, time) {
    const { context } = this;
    const length = (120 + 40 * Math.sin(time * 70 + car.seat)) * size;
    const at = (along, aside) =>
      view.flat(car.position.map((value, axis) => value + along * car.forward[axis] + aside * cross(car.up, car.forward)[axis]));
    context.beginPath();
    context.moveTo(...at(BODY.back * size, 22 * size));
    context.lineTo(...at(BODY.back * size - length, 0));
    context.lineTo(...at(BODY.back * size, -22 * size));
    context.fillStyle = this.colours.pad;
    context.fill();
  }

  drawBoost(across, down, size, car) {
    const { context } = this;
    context.lineWidth = Math.max(26, 1.8 * this.pixel);
    context.lineCap = "butt";
    const radius = 122 * size;
    const from = -Math.PI / 2;
    for (const [share, alpha] of [[1, 0.18], [car.boost / 100, 0.95]]) {
      context.strokeStyle = rgb(this.sides[car.side], alpha);
      context.beginPath();
      context.arc(across, down, radius, from, from + 2 * Math.PI * share);
      context.stroke();
    }
  }

  drawNames(moment) {
    const { context } = this;
    context.font = `600 ${12 * this.pixel}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.lineJoin = "round";
    for (const car of moment.cars) {
      const [across, down] = TOP.flat(car.position);
      const name = carName(this.recording, car.seat);
      const shown = name.length > 24 ? `${name.slice(0, 23)}…` : name;
      const above = down - 140 * this.growth(this.plan.top, car.position) - 2 * this.pixel;
      context.strokeStyle = this.colours.halo;
      context.lineWidth = 3 * this.pixel;
      context.strokeText(shown, across, above);
      context.fillStyle = this.colours.ink;
      context.fillText(shown, across, above);
    }
  }

  // How much larger than life something is drawn; from above, what is higher is nearer.
  growth(view, position) {
    return ENLARGED * (view.viewer[2] ? 1 + (0.6 * Math.max(position[2], 0)) / this.field.height : 1);
  }
}
