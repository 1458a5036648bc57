"use strict";
// Lists the matches with the winner in bold, shows the newest, and goes on to newer ones without interrupting the one that is watched.

const INTERVAL = 2000; // milliseconds between two looks for new matches

const frame = document.getElementById("match");
const list = document.getElementById("matches");
const follow = document.getElementById("follow");
const state = document.getElementById("state");

let matches = []; // the oldest first
let shown = null; // the match that is shown
let playing = null; // whether it is still being shown; null if its page does not tell
const watched = new Set(); // numbers of matches that were shown

function show(match) {
  shown = match;
  playing = null;
  watched.add(match.number);
  frame.src = `/matches/${match.number}`;
  draw();
}

// The newest match that was not shown yet, if the one that is shown may be left for it.
function next() {
  const unseen = matches.filter((match) => !watched.has(match.number));
  if (!unseen.length || playing === true) return null;
  const newest = unseen[unseen.length - 1];
  if (shown === null || playing === false) return newest;
  return newest.update > shown.update ? newest : null; // its page does not tell when it has ended
}

function advance() {
  const match = shown === null || follow.checked ? next() : null;
  if (match) show(match);
}

function draw() {
  list.replaceChildren();
  let update = null;
  for (const match of [...matches].reverse()) {
    if (match.update !== update) {
      update = match.update;
      const head = document.createElement("li");
      head.className = "update";
      head.textContent = `Update ${update.toLocaleString("en")}`;
      list.append(head);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = `match ${watched.has(match.number) ? "watched" : "unseen"}`;
    if (shown !== null && match.number === shown.number) button.classList.add("shown");
    button.addEventListener("click", () => show(match));
    match.names.forEach((name, place) => {
      if (place) button.append(" vs. ");
      const part = document.createElement(name === match.winner ? "strong" : "span");
      part.textContent = name;
      button.append(part);
    });
    if (match.winner === null) button.append(" (draw)");
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
}

async function look() {
  try {
    const answer = await (await fetch("/matches")).json();
    const last = (some) => (some.length ? some[some.length - 1].number : 0);
    const changed = last(answer.matches) !== last(matches) || answer.matches.length !== matches.length;
    matches = answer.matches;
    document.getElementById("title").textContent = answer.title;
    state.textContent = matches.length ? "Waiting for newer checkpoints." : "Playing the first matches.";
    if (changed) draw();
    advance();
  } catch {
    state.textContent = "nemesis watch has ended; these are its last matches.";
  }
  setTimeout(look, INTERVAL);
}

window.addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || typeof event.data?.replay !== "string") return;
  playing = event.data.replay !== "ended";
  if (!playing) setTimeout(advance, INTERVAL);
});
follow.addEventListener("change", advance);
look();
