/** When things happen: pads, synchronisers, PIO, DMA, to the cycle. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Dma, LATENCY_CYCLES } from './dma.mjs';
import { Fabric } from './fabric.mjs';
import { PioRegisters } from './pio-registers.mjs';

const CTRL = 0x000;
const FSTAT = 0x004;
const FDEBUG = 0x008;
const FLEVEL = 0x00c;
const TXF0 = 0x010;
const RXF0 = 0x020;
const BYPASS = 0x038;
const INSTRUCTIONS = 0x048;
const SM_SIZE = 0x18;
const [CLKDIV, EXECCTRL, SHIFTCTRL, ADDR, INSTR, PINCTRL] = [0xc8, 0xcc, 0xd0, 0xd4, 0xd8, 0xdc];
const PIO0 = 0x50200000;
const RAM = 0x20000000;

/** Pads, PIO and DMA with a memory of words, without a processor. */
function build() {
  const fabric = new Fabric();
  const memory = new Map();
  const interrupts = new Map();
  const chip = {
    logger: console,
    setInterrupt: (number, on) => interrupts.set(number, on),
    readUint32: (address) =>
      address >= PIO0 ? pio.readUint32(address - PIO0) : (memory.get(address) ?? 0),
    writeUint32(address, value) {
      if (address >= PIO0) pio.writeUint32Atomic(address - PIO0, value, 0);
      else if (address >= 0x50000000) dma.writeUint32Atomic(address & 0xfff, value, 0);
      else memory.set(address, value);
    },
  };
  const dma = new Dma(chip, fabric);
  const pio = new PioRegisters(chip, fabric, fabric.pio[0], 7, dma);
  dma.pioWants = (request) => pio.wants(request & 7);
  const edges = [];
  fabric.onPads = (mask, cycle) => edges.push([cycle, fabric.pads.levels]);
  const write = (offset, value) => pio.writeUint32Atomic(offset, value, 0);
  const load = (...program) => program.forEach((op, i) => write(INSTRUCTIONS + 4 * i, op));
  return { fabric, pio, dma, memory, interrupts, edges, write, load };
}

const wrap = (top) => top << 12;
// set pins and pin directions from pad 2 on, one pin
const SET_PAD_2 = (1 << 26) | (2 << 5);

function drivePad2(board, machine = 0) {
  board.write(PINCTRL + SM_SIZE * machine, SET_PAD_2);
  board.write(INSTR + SM_SIZE * machine, 0xe081); // set pindirs, 1
  board.fabric.advance(board.fabric.now + 1);
}

test('a pin set in cycle n changes its pad and what is wired to it at n + 1', () => {
  const board = build();
  board.fabric.pads.connect(2, 6);
  drivePad2(board);
  board.load(0xe001, 0xe000 | (3 << 8)); // set pins, 1; set pins, 0 [3]
  board.write(EXECCTRL, wrap(1));
  board.fabric.advance(100);
  board.write(CTRL, 1);
  board.fabric.advance(112);
  const both = (1 << 2) | (1 << 6);
  assert.deepEqual(board.edges, [
    [101, both],
    [102, 0],
    [106, both],
    [107, 0],
    [111, both],
    [112, 0],
  ]);
});

for (const [bypass, delay] of [
  [0, 2],
  [1 << 3, 0],
]) {
  test(`a pad is seen ${delay} cycles after it changed`, () => {
    const board = build();
    board.write(BYPASS, bypass);
    board.load(0x2083, 0xa042 | 0, 0xc000); // wait 1 gpio 3; nop; irq set 0
    board.write(EXECCTRL, wrap(2));
    board.write(CTRL, 1);
    board.fabric.at(50, () => board.fabric.drive(3, 1));
    board.fabric.advance(50 + delay);
    assert.equal(board.fabric.pio[0].machines[0].pc, 0);
    board.fabric.advance(50 + delay + 1);
    assert.equal(board.fabric.pio[0].machines[0].pc, 1);
    board.fabric.advance(50 + delay + 3);
    assert.equal(board.fabric.pio[0].irq, 1);
  });
}

test('of two machines that set one pin in the same cycle the higher one wins', () => {
  const board = build();
  drivePad2(board);
  board.write(PINCTRL + SM_SIZE, SET_PAD_2);
  board.load(0xe001, 0x0001, 0xe000, 0x0003);
  board.write(EXECCTRL + SM_SIZE, wrap(31));
  board.write(INSTR + SM_SIZE, 0x0002); // the second machine begins at 2
  board.fabric.advance(20);
  board.write(CTRL, 3);
  board.fabric.advance(30);
  assert.deepEqual(board.edges, []);
});

test('machines enabled by one write start in the same cycle', () => {
  const board = build();
  board.load(0xa0c9, 0x0001); // mov isr, !x; jmp 1
  board.write(CTRL, 0xf0f);
  board.fabric.advance(1);
  assert.deepEqual(
    board.fabric.pio[0].machines.map(({ pc }) => pc),
    [1, 1, 1, 1],
  );
});

test('a divided clock ticks where the fraction says', () => {
  const board = build();
  drivePad2(board);
  board.write(CLKDIV, (2 << 16) | (128 << 8)); // 2.5
  board.load(0xe001, 0xe000);
  board.write(EXECCTRL, wrap(1));
  board.fabric.advance(10);
  board.write(CTRL, 0x101);
  board.fabric.advance(25);
  assert.deepEqual(
    board.edges.map(([cycle]) => cycle),
    [11, 13, 16, 18, 21, 23],
  );
});

test('full and empty queues leave their marks, and writing ones clears them', () => {
  const board = build();
  board.load(0x8020, 0x0000); // push block
  board.write(EXECCTRL, wrap(1));
  board.write(CTRL, 1);
  board.fabric.advance(50);
  assert.equal(board.pio.readUint32(FLEVEL), 0x40);
  assert.equal(board.pio.readUint32(FDEBUG), 1); // RXSTALL
  board.write(FDEBUG, 1);
  board.fabric.advance(51);
  assert.equal(board.pio.readUint32(FDEBUG), 1, 'it is stalled still');
  for (let i = 0; i < 4; i++) board.pio.readUint32(RXF0);
  board.fabric.advance(52);
  board.write(FDEBUG, 0xffffffff);
  assert.equal(board.pio.readUint32(FDEBUG), 0);
  assert.equal(board.pio.readUint32(RXF0 + 4), 0);
  assert.equal(board.pio.readUint32(FDEBUG), 2 << 8); // RXUNDER of machine 1
  for (let i = 0; i < 5; i++) board.write(TXF0 + 8, i);
  assert.equal(board.pio.readUint32(FDEBUG), (2 << 8) | (4 << 16)); // TXOVER of machine 2
  assert.equal((board.pio.readUint32(FSTAT) >>> 16) & 15, 4);
  board.write(INSTR + 3 * SM_SIZE, 0x80a0); // pull block
  board.fabric.advance(60);
  assert.equal(board.pio.readUint32(FDEBUG) >>> 24, 8); // TXSTALL of machine 3
  assert.equal(board.pio.readUint32(EXECCTRL + 3 * SM_SIZE) >>> 31, 1, 'EXEC_STALLED');
  board.write(TXF0 + 12, 7);
  board.fabric.advance(62);
  assert.equal(board.fabric.pio[0].machines[3].osr, 7);
  assert.equal(board.pio.readUint32(EXECCTRL + 3 * SM_SIZE) >>> 31, 0);
});

test('joining makes a queue of eight and empties it', () => {
  const board = build();
  board.write(TXF0, 1);
  board.write(SHIFTCTRL, 0x400c0000);
  for (let i = 0; i < 9; i++) board.write(TXF0, i);
  assert.equal(board.pio.readUint32(FLEVEL) & 15, 8);
  assert.equal(board.pio.readUint32(FDEBUG), 1 << 16);
});

test('a counting loop shows where it is to whoever asks', () => {
  const board = build();
  board.load(0x0040); // jmp x-- 0
  board.write(INSTR, 0xa02b); // mov x, !null
  board.fabric.advance(1);
  board.write(CTRL, 1);
  board.fabric.advance(1001);
  assert.equal(board.pio.readUint32(ADDR), 0);
  assert.equal(board.fabric.pio[0].machines[0].x, 0xffffffff - 1000);
});

// --- DMA

const CH = (channel, register) => 0x40 * channel + register;
const [READ, WRITE, COUNT, TRIGGER] = [0, 4, 8, 12];
const control = ({
  size = 2,
  read = 0,
  write = 0,
  ring = 0,
  onWrite = 0,
  chain,
  request = 63,
  quiet = 0,
}) =>
  ((quiet << 21) |
    (request << 15) |
    (chain << 11) |
    (onWrite << 10) |
    (ring << 6) |
    (write << 5) |
    (read << 4) |
    (size << 2) |
    1) >>>
  0;

test('a pushed word is taken some cycles later, then one a cycle while there are any', () => {
  const board = build();
  const { dma, fabric } = board;
  const log = [];
  const set = board.memory.set.bind(board.memory);
  board.memory.set = (address, value) => {
    log.push(fabric.now);
    return set(address, value);
  };
  const settings = control({ write: 1, request: 4, chain: 0 });
  dma.writeUint32Atomic(CH(0, READ), PIO0 + RXF0, 0);
  dma.writeUint32Atomic(CH(0, WRITE), RAM, 0);
  dma.writeUint32Atomic(CH(0, COUNT), 100, 0);
  dma.writeUint32Atomic(CH(0, TRIGGER), settings, 0);
  board.load(0xa0c1, 0x8000, 0xa0c1, 0x8000, 0x0004); // two pushes: in cycles 101 and 103
  fabric.advance(100);
  board.write(CTRL, 1);
  fabric.advance(200);
  assert.deepEqual(log, [101 + LATENCY_CYCLES, 101 + LATENCY_CYCLES + 1]);
  assert.equal(dma.readUint32(CH(0, COUNT)), 98);
  assert.equal(dma.readUint32(CH(0, WRITE)), RAM + 8);
  assert.equal(dma.readUint32(CH(0, TRIGGER)) & (1 << 24), 1 << 24);
  dma.writeUint32Atomic(0x444, 1, 0);
  assert.equal(dma.readUint32(CH(0, TRIGGER)), settings);
});

test('two channels that are always ready take turns', () => {
  const board = build();
  const { dma, fabric } = board;
  const log = [];
  board.memory.set = (address) => log.push(address);
  for (const channel of [3, 7]) {
    dma.writeUint32Atomic(CH(channel, WRITE), RAM + 0x1000 * channel, 0);
    dma.writeUint32Atomic(CH(channel, COUNT), 3, 0);
    dma.writeUint32Atomic(CH(channel, 0x10), control({ write: 1, chain: channel }), 0);
  }
  dma.writeUint32Atomic(0x430, (1 << 3) | (1 << 7), 0);
  fabric.advance(LATENCY_CYCLES + 6);
  assert.deepEqual(
    log.map((address) => (address - RAM) >> 12),
    [3, 7, 3, 7, 3, 7],
  );
});

test('a control channel walks a list until a null trigger, which may interrupt', () => {
  const board = build();
  const { dma, fabric, memory, interrupts } = board;
  const list = RAM + 0x100;
  [3, RAM + 0x200, 2, RAM + 0x300, 0, 0].forEach((word, i) => memory.set(list + 4 * i, word));
  for (let i = 0; i < 3; i++) memory.set(RAM + 0x200 + 4 * i, 10 + i);
  for (let i = 0; i < 2; i++) memory.set(RAM + 0x300 + 4 * i, 20 + i);
  dma.writeUint32Atomic(0x404, 0xfff, 0);
  // channel 0 moves; IRQ_QUIET: it interrupts at the null trigger only
  dma.writeUint32Atomic(CH(0, WRITE), RAM + 0x400, 0);
  dma.writeUint32Atomic(CH(0, 0x10), control({ read: 1, write: 1, chain: 1, quiet: 1 }), 0);
  // channel 1 writes AL3_TRANS_COUNT and AL3_READ_ADDR_TRIG of channel 0
  dma.writeUint32Atomic(CH(1, READ), list, 0);
  dma.writeUint32Atomic(CH(1, WRITE), 0x50000038, 0);
  dma.writeUint32Atomic(CH(1, COUNT), 2, 0);
  const walk = control({ read: 1, write: 1, ring: 3, onWrite: 1, chain: 1, quiet: 1 });
  dma.writeUint32Atomic(CH(1, TRIGGER), walk, 0);
  fabric.advance(20);
  assert.ok(!interrupts.get(11));
  fabric.advance(200);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((i) => memory.get(RAM + 0x400 + 4 * i)),
    [10, 11, 12, 20, 21],
  );
  assert.equal(interrupts.get(11), true);
  assert.equal(dma.readUint32(0x400), 1);
  dma.writeUint32Atomic(0x40c, 1, 0);
  assert.equal(interrupts.get(11), false);
});

test('a chain of channels without end does not stop the emulator', () => {
  const board = build();
  const { dma, fabric } = board;
  for (const channel of [0, 1]) {
    dma.writeUint32Atomic(CH(channel, COUNT), 0, 0);
    dma.writeUint32Atomic(CH(channel, 0x10), control({ chain: 1 - channel }), 0);
  }
  dma.writeUint32Atomic(0x430, 1, 0);
  fabric.advance(1000);
  assert.equal(dma.readUint32(0x400), 3);
});
