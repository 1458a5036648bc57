"use strict";
// A recording, decoded: what happened when, and where everything is at any moment between two frames.

const JUMP = 700; // uu between two frames: nothing moves so fast, so it was put there

function decodeRecording(header) {
  const bytes = Uint8Array.from(atob(header.data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = (fields) => Object.values(fields).reduce((sum, field) => sum + field.size, 0);
  const arenaSize = size(header.arena_fields);
  const carSize = size(header.car_fields);
  const width = arenaSize + header.cars * carSize;

  const column = (field, start) => {
    const values = new Float32Array(header.frames * field.size);
    for (let frame = 0; frame < header.frames; frame++) {
      for (let part = 0; part < field.size; part++) {
        const place = frame * width + start + field.at + part;
        values[frame * field.size + part] = view.getInt16(2 * place, true) / field.scale;
      }
    }
    return values;
  };
  const columns = (fields, start) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, column(field, start)]));

  const arena = columns(header.arena_fields, 0);
  const cars = Array.from({ length: header.cars }, (_, seat) => columns(header.car_fields, arenaSize + seat * carSize));
  const time = new Float64Array(header.frames);
  let tick = header.first_tick;
  for (let frame = 0; frame < header.frames; frame++) {
    tick += arena.ticks[frame];
    time[frame] = tick / header.ticks_per_second;
  }
  const recording = { header, time, ball: arena.ball, pads: arena.pads, cars };
  recording.events = findEvents(recording);
  recording.start = time[0];
  recording.end = time[header.frames - 1];
  return recording;
}

function hasFlag(recording, seat, frame, name) {
  return ((recording.cars[seat].flags[frame] >> recording.header.flags.indexOf(name)) & 1) === 1;
}

// What cars did, in the order of time; a touch over several frames is one event.
function findEvents(recording) {
  const events = [];
  for (let frame = 0; frame < recording.header.frames; frame++) {
    for (let seat = 0; seat < recording.cars.length; seat++) {
      for (const kind of ["touch", "shot", "save", "demolition"]) {
        const again = kind === "touch" && frame > 0 && hasFlag(recording, seat, frame - 1, kind);
        if (hasFlag(recording, seat, frame, kind) && !again) {
          events.push({ time: recording.time[frame], frame, kind, seat });
        }
      }
    }
  }
  if (recording.header.winner !== null) {
    const frame = recording.header.frames - 1;
    events.push({ time: recording.time[frame], frame, kind: "goal", side: recording.header.winner });
  }
  return events;
}

// The last frame that is not after a time.
function frameAt(recording, time) {
  let low = 0;
  let high = recording.header.frames - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (recording.time[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function vectorAt(values, frame) {
  return [values[3 * frame], values[3 * frame + 1], values[3 * frame + 2]];
}

// Positions, directions and boost at a time, interpolated between the two frames around it.
function momentAt(recording, time) {
  const frame = frameAt(recording, time);
  const next = Math.min(frame + 1, recording.header.frames - 1);
  const span = recording.time[next] - recording.time[frame];
  const share = span > 0 ? Math.min(Math.max((time - recording.time[frame]) / span, 0), 1) : 0;
  const cars = recording.cars.map((car, seat) => {
    const position = vectorAt(car.position, frame);
    const target = vectorAt(car.position, next);
    const jumps = distance(position, target) > JUMP;
    const own = jumps ? 0 : share;
    return {
      seat,
      side: seat % 2,
      position: between(position, target, own),
      forward: unit(between(vectorAt(car.forward, frame), vectorAt(car.forward, next), own)),
      up: unit(between(vectorAt(car.up, frame), vectorAt(car.up, next), own)),
      boost: car.boost[frame] + (jumps ? 0 : (car.boost[next] - car.boost[frame]) * own),
      boosting: car.boost[next] < car.boost[frame] - 0.01,
      demolished: hasFlag(recording, seat, frame, "demolished"),
    };
  });
  const perNumber = recording.header.pads_per_number;
  const numbers = recording.header.arena_fields.pads.size;
  const pads = recording.header.pads.map(
    (_, pad) => ((recording.pads[frame * numbers + Math.floor(pad / perNumber)] >> (pad % perNumber)) & 1) === 1,
  );
  return { time, ball: between(vectorAt(recording.ball, frame), vectorAt(recording.ball, next), share), cars, pads };
}

function lastTouch(recording, time) {
  let found = null;
  for (const event of recording.events) {
    if (event.time > time + 1e-9) break;
    if (event.kind === "touch") found = event;
  }
  return found;
}

function carName(recording, seat) {
  const { names, cars } = recording.header;
  return cars > 2 ? `${names[seat % 2]} ${Math.floor(seat / 2) + 1}` : names[seat % 2];
}
