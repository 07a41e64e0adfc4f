/** The cache before the flash: hits, misses and what they cost, counted by hand. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Board } from './board.mjs';
import { XipCache } from './xip-cache.mjs';

const FLASH = 0x10000000;
const WAY = 8192; // bytes after which an address falls into the same set

const misses = (cache, addresses) => addresses.filter((address) => cache.misses(address)).length;

test('a line has 8 bytes', () => {
  const cache = new XipCache();
  const bytes = Array.from({ length: 64 }, (_, n) => FLASH + n);
  assert.equal(misses(cache, bytes), 8);
  assert.equal(misses(cache, bytes), 0);
});

test('16 kB fit, in any order, and no more', () => {
  const cache = new XipCache();
  const all = Array.from({ length: 2048 }, (_, n) => FLASH + 8 * n);
  assert.equal(misses(cache, all), 2048);
  assert.equal(misses(cache, all.reverse()), 0);
  assert.equal(misses(cache, [FLASH + 16384]), 1);
  // it took the place of the one of its set that was used longer ago: not of that at 0
  assert.equal(misses(cache, [FLASH]), 0);
  assert.equal(misses(cache, [FLASH + WAY]), 1);
});

test('two lines of a set go in turns, three thrash', () => {
  const cache = new XipCache();
  const [a, b, c] = [FLASH, FLASH + WAY, FLASH + 2 * WAY];
  assert.equal(misses(cache, [a, b, a, b, a, b]), 2);
  assert.equal(misses(cache, [a, b, c, a, b, c]), 4);
});

test('aliases of the flash: do not allocate, do not look', () => {
  const cache = new XipCache();
  assert.equal(misses(cache, [0x11000000, 0x11000000]), 2);
  assert.equal(misses(cache, [0x10000000, 0x11000004]), 1);
  assert.equal(misses(cache, [0x12000000, 0x13000000]), 2);
  cache.flush();
  assert.equal(misses(cache, [0x10000000]), 1);
});

/** A program of 16-bit instructions that runs from flash right after the vectors. */
function run(instructions, flash_miss_cycles, cycles) {
  const flash = new Uint8Array(0x1000);
  const view = new DataView(flash.buffer);
  view.setUint32(0x100, 0x20040000, true);
  view.setUint32(0x104, 0x10000201, true);
  instructions.forEach((op, n) => view.setUint16(0x200 + 2 * n, op, true));
  const board = new Board({ flash, flash_miss_cycles });
  board.run(cycles);
  return board;
}

test('a miss costs what it should, a loop in the cache nothing', () => {
  // movs r0, #0; then adds r0, #1; b back: 1 + 2 cycles a turn, all of it in one line
  const loop = [0x2000, 0x3001, 0xe7fd];
  const turns = (miss) => run(loop, miss, 3000).mcu.core.registers[0];
  assert.equal(turns(0), 1000);
  assert.equal(turns(300), 900); // the one miss, at the beginning
  // 12 instructions in three lines, then for ever in the last
  const line = [...Array(12).fill(0x3001), 0xe7fe];
  const at = (miss, cycles) => run(line, miss, cycles).mcu.core.registers[0];
  assert.equal(at(0, 6), 6);
  // instructions act when they begin: the first at 0, then at 51, 52, 53; the next line's at 54, 105
  assert.equal(at(50, 54), 4);
  assert.equal(at(50, 55), 5);
  assert.equal(at(50, 105), 5);
  assert.equal(at(50, 106), 6);
});

test('data in flash are read through the cache, and flushing empties it', () => {
  // ldr r1, [pc, #28] (at 0x220: the line behind), again and again
  const program = [0x4907, 0x4907, 0xe7fc];
  const core = run(program, 50, 400).mcu.core;
  assert.equal(core.misses, 2);
  core.writeUint32(0x14000004, 1);
  assert.equal(core.cache.misses(FLASH + 0x200), true);
});
