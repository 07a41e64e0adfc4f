/** Skipping over cycles in which nothing happens gives what stepping through them gives. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Fabric } from './fabric.mjs';
import { PioRegisters } from './pio-registers.mjs';
import { Random, scramble } from './random-programs.mjs';

const PROGRAMS = 400;
const ACTIONS = 60;

/** The registers of the blocks, without a processor or DMA behind them. */
function registers(fabric) {
  const chip = { setInterrupt() {}, logger: console };
  const no_dma = { requested() {} };
  return fabric.pio.map((block) => new PioRegisters(chip, fabric, block, 7, no_dma));
}

function build(seed, skipping) {
  const fabric = new Fabric({ skipping });
  scramble(new Random(seed), fabric);
  const pads_log = [];
  fabric.onPads = (mask, cycle) => pads_log.push([cycle, fabric.pads.levels]);
  // a loop through a wire, too
  fabric.pads.connect(4, 1);
  return { fabric, registers: registers(fabric), pads_log };
}

/** Something that the processor or the outside world does, the same in both. */
function act(random, { fabric, registers: [first, second] }) {
  const block = random.chance(50) ? first : second;
  const machine = random.below(4);
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
      block.writeUint32Atomic(0x10 + 4 * machine, random.below(2 ** 32), 0);
      return null;
    case 3:
      return block.readUint32(0x20 + 4 * machine);
    case 4:
      block.writeUint32Atomic(0x30, random.below(256), 0);
      return null;
    case 5:
      block.writeUint32Atomic(0x34, random.below(4), 0);
      return null;
    case 6:
      block.writeUint32Atomic(0x08, 0xffffffff, 0);
      return null;
    case 7: {
      // a forced instruction: set x, jmp, pull, push, wait
      const op = random.pick([0xe021, 0x0000, 0x80a0, 0x8020, 0x2001, 0xe001]);
      block.writeUint32Atomic(0xd8 + 0x18 * machine, op, 0);
      return null;
    }
    case 8:
      block.writeUint32Atomic(0, random.pick([15, 15, 15, 14, 7, 0xf0f, 0xff]), 0);
      return null;
    default: {
      const pad = random.below(4);
      const level = random.below(2);
      fabric.at(fabric.now, () => fabric.drive(pad, level));
      return null;
    }
  }
}

function compare(a, b, seed) {
  const cycle = a.fabric.now;
  const where = `seed ${seed}, cycle ${cycle}`;
  assert.equal(b.fabric.now, cycle, where);
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(a.fabric.pio[i].snapshot(cycle), b.fabric.pio[i].snapshot(cycle), where);
  }
  assert.deepEqual(a.pads_log, b.pads_log, where);
  assert.equal(a.fabric.pads.levels, b.fabric.pads.levels, where);
  a.fabric.reschedule();
  b.fabric.reschedule();
}

test('random programs and inputs give the same with and without skipping', () => {
  for (let seed = 0; seed < PROGRAMS; seed++) {
    const skipped = build(seed, true);
    const stepped = build(seed, false);
    const random = new Random(seed + 1000000);
    for (const { registers: blocks } of [skipped, stepped]) {
      for (const block of blocks) block.writeUint32Atomic(0, 0xf0f, 0);
    }
    for (let i = 0; i < ACTIONS; i++) {
      const cycles = random.pick([1, 2, 3, 5, 17, 100, 1000]) + random.below(20);
      for (const { fabric } of [skipped, stepped]) fabric.advance(fabric.now + cycles);
      // looking at the state ends a loop's skipping: not every time, so that loops get long
      if (random.chance(30)) compare(skipped, stepped, seed);
      const state = random.state;
      const result = act(random, skipped);
      const after = random.state;
      random.state = state;
      assert.equal(act(random, stepped), result, `seed ${seed}`);
      assert.equal(random.state, after);
    }
    compare(skipped, stepped, seed);
  }
});

test('a copy of pads and PIO goes on as the original does', () => {
  for (let seed = 0; seed < PROGRAMS / 4; seed++) {
    const original = build(seed, true);
    for (const block of original.registers) block.writeUint32Atomic(0, 0xf0f, 0);
    original.fabric.advance(500);
    const log = [];
    const copy = original.fabric.copyElectrics();
    copy.onPads = (mask, cycle) => log.push([cycle, copy.pads.levels]);
    const begun = original.pads_log.length;
    copy.advance(5000);
    original.fabric.advance(5000);
    assert.deepEqual(log, original.pads_log.slice(begun), `seed ${seed}`);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(copy.pio[i].snapshot(5000), original.fabric.pio[i].snapshot(5000));
    }
  }
});
