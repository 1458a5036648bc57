// Frames over pipes: a header of eight bytes (magic, kind, length of the body), then the body. Little-endian.
//
// Reading and writing block, because a host has nothing else to do while it waits. A host exits at the end of its
// input, which is when the process that started it has closed the pipe or exited.

import { readSync, writeSync } from 'node:fs';

const MAGIC = 0x6e6d;
export const CONTROL = 1; // JSON, in both directions
export const STEP = 2; // actions and new matches in, decisions and results out
const HEADER_SIZE = 8;

export class EndOfInput extends Error {}

/**
 * @param {number} fd
 * @param {Buffer} buffer is filled completely
 */
function readFully(fd, buffer) {
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
  const header = Buffer.alloc(HEADER_SIZE);
  readFully(fd, header);
  if (header.readUInt16LE(0) !== MAGIC) throw new Error('The input does not consist of frames.');
  const body = Buffer.alloc(header.readUInt32LE(4));
  readFully(fd, body);
  return { kind: header.readUInt16LE(2), body };
}

/**
 * @param {number} fd
 * @param {number} kind
 * @param {Uint8Array[]} parts of the body, in order
 */
export function writeFrame(fd, kind, parts) {
  const header = Buffer.alloc(HEADER_SIZE);
  header.writeUInt16LE(MAGIC, 0);
  header.writeUInt16LE(kind, 2);
  header.writeUInt32LE(
    parts.reduce((sum, part) => sum + part.length, 0),
    4,
  );
  for (const part of [header, ...parts]) {
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
