/**
 * A scripted target at the pads: it sees the ping pad rise and drives the reply pad.
 *
 * All times are whole clk_sys cycles at the pads: `rise` from the rise of the ping to the rise of
 * the reply, `width` from there to its fall. `glitches`: besides, up to `runts` pulses of one cycle
 * in each of three phases (before the rise, while up, up to `after` cycles after the fall), `spaces`
 * cycles apart. `pulses`: of itself, `count` of them from cycle `from` on (of now), `period` cycles
 * apart, each up to a fifth of that later, as a target that answers nobody.
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
  glitches: ['seed', 'rise', 'width', 'runts'],
  pulses: ['seed', 'from', 'count', 'period', 'width'],
};

/** @returns {Record<string, any>} the script, checked */
export function parseScript(text) {
  const script = JSON.parse(text);
  const needed = KINDS[script.kind];
  if (!needed) throw new Error(`kind is one of ${Object.keys(KINDS).join(', ')}`);
  for (const name of needed) if (script[name] === undefined) throw new Error(`${name} is missing`);
  return script;
}

/** The scripted target of a board, of which there is one. */
const listeners = new WeakMap();

/** Let a scripted target play on a board, in place of the one before. */
export function respond(board, script, { ping, reply }) {
  const before = listeners.get(board);
  if (before) board.pad_listeners.splice(board.pad_listeners.indexOf(before), 1);
  listeners.delete(board);
  board.drive(reply, script.kind === 'held' ? 1 : 0);
  if (script.kind === 'silent' || script.kind === 'held') return;
  if (script.log) writeFileSync(script.log, '');
  if (script.kind === 'pulses') {
    for (let n = 0; n < script.count; n++) {
      const late = draw(script.seed, 2 * n, 0, Math.max(1, Math.floor(script.period / 5)));
      const width = draw(script.seed, 2 * n + 1, ...script.width);
      const rise = board.cycle + script.from + n * script.period + late;
      board.drive(reply, 1, rise);
      board.drive(reply, 0, rise + width);
      if (script.log) appendFileSync(script.log, `${rise} ${width}\n`);
    }
    return;
  }
  let ball = 0;

  const pulse = (cycle, rise, width) => {
    board.drive(reply, 1, cycle + rise);
    board.drive(reply, 0, cycle + rise + width);
  };

  const listener = (mask, cycle) => {
    if (!(mask & (1 << ping)) || !board.level(ping)) return;
    let { rise, width } = script;
    // a line for each ping that reached the target, as the Racquet counts them
    if (script.kind === 'answer' && script.log) appendFileSync(script.log, `${rise} ${rise + width}\n`);
    if (script.kind === 'random') {
      rise = draw(script.seed, 2 * ball, ...script.rise);
      width = draw(script.seed, 2 * ball + 1, ...script.width);
      if (script.log) appendFileSync(script.log, `${rise} ${rise + width}\n`);
    }
    if (script.kind === 'glitches') {
      rise = draw(script.seed, 4 * ball, ...script.rise);
      width = draw(script.seed, 4 * ball + 1, ...script.width);
      // pulses of one cycle before the rise, dips while the reply is up, pulses after the fall
      let count = 0;
      const phases = [
        [0, 2, rise - 2, 1],
        [1, rise + 3, rise + width - 2, 0],
        [2, rise + width + 3, rise + width + script.after, 1],
      ];
      for (const [phase, begin, end, level] of phases) {
        const wanted = draw(script.seed, 4 * ball + 2 + 1000003 * (phase + 1), ...script.runts);
        let at = begin;
        for (let n = 0; n < wanted; n++) {
          at += draw(script.seed, 31 * (4 * ball + n) + 7919 * (phase + 1), ...script.spaces);
          if (at + 1 >= end) break;
          board.drive(reply, level, cycle + at);
          board.drive(reply, 1 - level, cycle + at + 1);
          count++;
          at += 1;
        }
      }
      if (script.log) appendFileSync(script.log, `${rise} ${rise + width} ${count}\n`);
    }
    pulse(cycle, rise, width);
    // again after a pause as long as the first answer, or as the script says
    if (script.kind === 'twice') pulse(cycle, rise + width + (script.pause ?? width), width);
    ball++;
  };
  board.pad_listeners.push(listener);
  listeners.set(board, listener);
}
