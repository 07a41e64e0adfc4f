// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/**
 * A scripted target at the pads: it sees the ping pad rise and drives the reply pad.
 *
 * All times are whole clk_sys cycles at the pads: `rise` from the rise of the ping to the rise of
 * the reply, `width` from there to its fall.
 */
import { appendFileSync, writeFileSync } from 'node:fs';

/** 32 random bits of a 32-bit state; as gaps.py. */
export function mix(state) {
  let z = state >>> 0;
  z = Math.imul(z ^ (z >>> 16), 0x7feb352d) >>> 0;
  z = Math.imul(z ^ (z >>> 15), 0x846ca68b) >>> 0;
  return (z ^ (z >>> 16)) >>> 0;
}

/** Number `index` of the seed's random numbers, uniform in [low, high); as gaps.gap_ns. */
export function draw(seed, index, low, high) {
  const bits = mix((mix(seed) + Math.imul(index + 1, 0x9e3779b9)) >>> 0);
  return low + Number((BigInt(bits) * BigInt(high - low)) >> 32n);
}

const KINDS = {
  answer: ['rise', 'width'],
  silent: [],
  twice: ['rise', 'width'],
  held: [],
  random: ['seed', 'rise', 'width'],
};

/** @returns {Record<string, any>} the script, checked */
export function parseScript(text) {
  const script = JSON.parse(text);
  const needed = KINDS[script.kind];
  if (!needed) throw new Error(`kind is one of ${Object.keys(KINDS).join(', ')}`);
  for (const name of needed) if (script[name] === undefined) throw new Error(`${name} is missing`);
  return script;
}

/** Let a scripted target play on a board. */
export function respond(board, script, { ping, reply }) {
  board.drive(reply, script.kind === 'held' ? 1 : 0);
  if (script.kind === 'silent' || script.kind === 'held') return;
  if (script.log) writeFileSync(script.log, '');
  let ball = 0;

  const pulse = (cycle, rise, width) => {
    board.drive(reply, 1, cycle + rise);
    board.drive(reply, 0, cycle + rise + width);
  };

  board.pad_listeners.push((mask, cycle) => {
    if (!(mask & (1 << ping)) || !board.level(ping)) return;
    let { rise, width } = script;
    if (script.kind === 'random') {
      rise = draw(script.seed, 2 * ball, ...script.rise);
      width = draw(script.seed, 2 * ball + 1, ...script.width);
      if (script.log) appendFileSync(script.log, `${rise} ${rise + width}\n`);
    }
    pulse(cycle, rise, width);
    // again after a pause as long as the first answer, or as the script says
    if (script.kind === 'twice') pulse(cycle, rise + width + (script.pause ?? width), width);
    ball++;
  });
}
