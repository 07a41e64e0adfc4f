#!/usr/bin/env node
/**
 * A program in the RAM of an emulated Pico, without any other firmware.
 *
 *     node run-program.mjs PROGRAM.elf PAD CYCLES [PINGS]
 *
 * Writes a line of JSON: `console`, what its UART said; `edges`, the cycles at which PAD changed from
 * low to high and back by turns; `pings`, the cycles at which GP2 rose. PINGS is a list of distances
 * in cycles, JSON: from a reply's fall (or from GP4's rise, once) to the next ping's rise.
 */
import { readFileSync } from 'node:fs';
import { Board } from './board.mjs';
import { segmentsOf } from './elf.mjs';
import { PAD_COUNT } from './pads.mjs';

const [PING, READY] = [2, 4];
const PING_CYCLES = 125;

function fail(message) {
  console.error(`emulator: ${message}`);
  process.exit(2);
}

const [file, pad_text, cycles_text, pings_text = '[]'] = process.argv.slice(2);
const [pad, cycles] = [Number(pad_text), Number(cycles_text)];
if (!(pad >= 0 && pad < PAD_COUNT && cycles > 0)) fail('usage: run-program.mjs ELF PAD CYCLES [PINGS]');
let program;
try {
  program = segmentsOf(readFileSync(file));
} catch (error) {
  fail(`${file}: ${error.message}`);
}

const board = new Board({ program });
const distances = JSON.parse(pings_text);
const [edges, pings] = [[], []];
let said = '';
board.mcu.uart[0].onByte = (byte) => (said += String.fromCharCode(byte));
board.drive(PING, 0);

function serve(cycle) {
  if (pings.length === distances.length) return;
  const at = cycle + distances[pings.length];
  pings.push(at);
  board.drive(PING, 1, at);
  board.drive(PING, 0, at + PING_CYCLES);
}

board.pad_listeners.push((mask, cycle) => {
  if (mask & (1 << READY) && board.level(READY)) serve(cycle);
  if (!(mask & (1 << pad))) return;
  edges.push(cycle);
  if (edges.length % 2 === 0) serve(cycle);
});
board.run(cycles);
console.log(JSON.stringify({ console: said, edges, pings }));
