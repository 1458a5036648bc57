// Frames over pipes: a head of eight bytes (magic, kind, length of the body), then the body. Little-endian.
//
// Reading and writing block: a host has nothing else to do while it waits, and one that reads to the end of its input,
// because whoever started it is gone, ends.

import { readSync, writeSync } from 'node:fs';

export const MAGIC = 0x6e6d;
export const CONTROL = 1; // JSON, either way
export const STEP = 2; // actions and new matches in, decisions and results out
const HEAD = 8;

export class EndOfInput extends Error {}

/**
 * @param {number} fd
 * @param {Buffer} buffer is filled whole
 */
function readWhole(fd, buffer) {
  let filled = 0;
  while (filled < buffer.length) {
    const count = readSync(fd, buffer, filled, buffer.length - filled, null);
    if (count === 0) throw new EndOfInput('The input has ended.');
    filled += count;
  }
}

/**
 * @param {number} fd
 * @returns {{kind: number, body: Buffer}}
 */
export function readFrame(fd) {
  const head = Buffer.alloc(HEAD);
  readWhole(fd, head);
  if (head.readUInt16LE(0) !== MAGIC) throw new Error('The input is not made of frames.');
  const body = Buffer.alloc(head.readUInt32LE(4));
  readWhole(fd, body);
  return { kind: head.readUInt16LE(2), body };
}

/**
 * @param {number} fd
 * @param {number} kind
 * @param {Uint8Array[]} parts of the body, in order
 */
export function writeFrame(fd, kind, parts) {
  const head = Buffer.alloc(HEAD);
  head.writeUInt16LE(MAGIC, 0);
  head.writeUInt16LE(kind, 2);
  head.writeUInt32LE(
    parts.reduce((sum, part) => sum + part.length, 0),
    4,
  );
  for (const part of [head, ...parts]) {
    let written = 0;
    while (written < part.length) written += writeSync(fd, part, written, part.length - written);
  }
}

/**
 * @param {number} fd
 * @param {unknown} value
 */
export function writeControl(fd, value) {
  writeFrame(fd, CONTROL, [Buffer.from(JSON.stringify(value))]);
}
