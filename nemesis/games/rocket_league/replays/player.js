"use strict";
// The controls of the page: play, pause, seek and speed, by mouse and by keyboard; and the figures around the field.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const SKIP = 2; // seconds

function clock(seconds) {
  const tenths = Math.max(Math.floor(seconds * 10 + 1e-6), 0);
  return `${Math.floor(tenths / 600)}:${String(Math.floor(tenths / 10) % 60).padStart(2, "0")}.${tenths % 10}`;
}

function element(name, parent, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  parent.append(made);
  return made;
}

class Player {
  constructor(recording) {
    this.recording = recording;
    this.scene = new Scene(document.getElementById("scene"), recording);
    this.time = recording.start;
    this.speed = SPEEDS.indexOf(1);
    this.playing = false;
    this.before = null; // when the last picture was drawn
    for (const name of ["play", "seek", "clock", "speed", "marks", "score", "result", "touch"]) {
      this[name + "Element"] = document.getElementById(name);
    }
    this.buildTeams();
    this.buildControls();
    this.buildMarks();
    const redraw = () => this.redraw();
    new ResizeObserver(() => { this.scene.resize(); redraw(); }).observe(this.scene.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.scene.readColours(); redraw(); });
    this.scene.resize();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) redraw();
    else this.toggle();
    this.tell("started");
  }

  // A page that shows this one, such as that of `nemesis watch`, goes on to the next match when this one has ended.
  tell(what) {
    if (window.parent !== window) window.parent.postMessage({ replay: what }, "*");
  }

  buildTeams() {
    this.cards = this.recording.cars.map((_, seat) => {
      const team = document.getElementById(seat % 2 ? "orange" : "blue");
      const card = element("div", team, "car");
      element("span", card, "name", carName(this.recording, seat));
      const bar = element("span", card, "bar");
      return { card, fill: element("span", bar, "fill"), boost: element("span", card, "figure") };
    });
  }

  buildControls() {
    const { start, end } = this.recording;
    Object.assign(this.seekElement, { min: start, max: end, step: "any", value: start });
    this.seekElement.addEventListener("input", () => this.seek(Number(this.seekElement.value)));
    this.playElement.addEventListener("click", () => this.toggle());
    for (const speed of SPEEDS) this.speedElement.append(new Option(`${speed}×`, String(speed)));
    this.speedElement.selectedIndex = this.speed;
    this.speedElement.addEventListener("change", () => this.setSpeed(this.speedElement.selectedIndex));
    this.scene.canvas.addEventListener("click", () => this.toggle());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  buildMarks() {
    const { start, end, events } = this.recording;
    for (const event of events) {
      const side = event.side ?? event.seat % 2;
      const mark = element("button", this.marksElement, `mark ${event.kind} ${side ? "orange" : "blue"}`);
      const who = event.seat === undefined ? this.recording.header.names[side] : carName(this.recording, event.seat);
      mark.style.left = `${end > start ? (100 * (event.time - start)) / (end - start) : 0}%`;
      mark.title = `${clock(event.time)} ${event.kind}: ${who}`;
      mark.setAttribute("aria-label", mark.title);
      mark.tabIndex = -1;
      mark.addEventListener("click", () => this.seek(event.time - (event.kind === "goal" ? 2 : 0.5)));
    }
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const frame = frameAt(this.recording, this.time);
    const { time, start, end } = this.recording;
    const actions = {
      " ": () => this.toggle(),
      k: () => this.toggle(),
      ArrowLeft: () => this.seek(this.time - SKIP),
      ArrowRight: () => this.seek(this.time + SKIP),
      ArrowUp: () => this.setSpeed(this.speed + 1),
      ArrowDown: () => this.setSpeed(this.speed - 1),
      ",": () => this.step(time[Math.max(frame - (this.time > time[frame] ? 0 : 1), 0)]),
      ".": () => this.step(time[Math.min(frame + 1, time.length - 1)]),
      Home: () => this.seek(start),
      End: () => this.seek(end),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  toggle() {
    if (!this.playing && this.time >= this.recording.end) this.time = this.recording.start;
    this.playing = !this.playing;
    this.before = null;
    this.redraw();
  }

  seek(time) {
    this.time = Math.min(Math.max(time, this.recording.start), this.recording.end);
    this.redraw();
  }

  step(time) {
    this.playing = false;
    this.seek(time);
  }

  setSpeed(place) {
    this.speed = Math.min(Math.max(place, 0), SPEEDS.length - 1);
    this.speedElement.selectedIndex = this.speed;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.advance(now);
      this.show();
      if (this.playing) this.redraw();
    });
  }

  advance(now) {
    if (!this.playing) return;
    // A page in the background draws nothing; when it is seen again, the match goes on from where it was.
    const passed = this.before === null ? 0 : Math.min((now - this.before) / 1000, 0.25);
    this.before = now;
    this.time += passed * SPEEDS[this.speed];
    if (this.time >= this.recording.end) {
      this.time = this.recording.end;
      this.playing = false;
      this.tell("ended");
    }
  }

  show() {
    const moment = this.scene.draw(this.time);
    const { header, end } = this.recording;
    const over = this.time >= end;
    const goals = [0, 1].map((side) => (over && header.winner === side ? 1 : 0));
    this.scoreElement.textContent = goals.join(" : ");
    this.resultElement.textContent = over ? (header.winner === null ? "No goal" : `${header.names[header.winner]} scores`) : "";
    this.resultElement.className = header.winner === 1 ? "orange" : header.winner === 0 ? "blue" : "";
    this.clockElement.textContent = `${clock(this.time)} / ${clock(end)}`;
    this.seekElement.value = String(this.time);
    this.seekElement.setAttribute("aria-valuetext", clock(this.time));
    this.playElement.textContent = this.playing ? "❚❚" : "►";
    this.playElement.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    const touch = lastTouch(this.recording, this.time);
    this.touchElement.textContent = touch ? `last touch: ${carName(this.recording, touch.seat)}` : "no touch yet";
    for (const car of moment.cars) {
      const { card, fill, boost } = this.cards[car.seat];
      fill.style.width = `${car.boost}%`;
      boost.textContent = car.demolished ? "demolished" : `${Math.round(car.boost)}`;
      card.classList.toggle("touched", touch !== null && touch.seat === car.seat);
      card.classList.toggle("demolished", car.demolished);
    }
  }
}

new Player(decodeRecording(JSON.parse(document.getElementById("recording").textContent)));
