/**
 * The processor against rp2040js': the same random instruction in the same random state. Where they
 * differ, the instruction is one of DIFFERENCES, and ours does what the ARMv6-M manual says; what it
 * says is computed here with big integers, in the words of its pseudocode.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { RP2040 } from 'rp2040js';
import { Core } from './core.mjs';
import { INSTRUCTIONS } from './instructions.mjs';

const ROUNDS = 78_000; // a thousand for each instruction
const SRAM = 0x20000000;
const WORDS = 256; // of memory that an instruction may reach, in its middle
const CODE = SRAM + 0x2000;
const FLAGS = ['N', 'Z', 'C', 'V'];

/** Numbers from a seed: the same failures each time (xorshift, Marsaglia 2003). */
let state = 0x7e221500;
function random() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
}
const below = (limit) => random() % limit;
const one = (values) => values[below(values.length)];

const EDGES = [0, 1, 2, 31, 32, 33, 64, 255, 256, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff];
const value = () => (below(2) ? random() : one(EDGES));

function machine(make) {
  const mcu = new RP2040();
  const core = make(mcu);
  mcu.core = core;
  return { core, memory: new Uint32Array(mcu.sram.buffer, 0, WORDS), mcu };
}

const ours = machine((mcu) => new Core(mcu));
const theirs = machine((mcu) => mcu.core);

// --- what the manual says where they differ

const bit = (word, n) => ((BigInt(word) >> BigInt(n)) & 1n) === 1n;

/** AddWithCarry() of the manual, A2.2.1. */
function addWithCarry(x, y, carry) {
  const unsigned = BigInt(x) + BigInt(y) + carry;
  const signed = BigInt.asIntN(32, BigInt(x)) + BigInt.asIntN(32, BigInt(y)) + carry;
  const result = BigInt.asUintN(32, unsigned);
  return {
    result: Number(result),
    N: bit(result, 31),
    Z: result === 0n,
    C: result !== unsigned,
    V: BigInt.asIntN(32, result) !== signed,
  };
}

/** Shift_C() of the manual, A2.2.1: by a register's low byte; 0 keeps the carry. */
function shiftC(before, op, shifted, carry) {
  const [input, by] = [BigInt(before.registers[op & 7]), before.registers[(op >>> 3) & 7] & 255];
  const result = BigInt.asUintN(32, by ? shifted(input, BigInt(by)) : input);
  return {
    result: Number(result),
    N: bit(result, 31),
    Z: result === 0n,
    C: by ? carry(input, by) : before.C,
    V: before.V,
  };
}

/** The registers afterwards: as before, but for some, and the next instruction's address. */
const registersWith = (before, changed) => {
  const all = { ...before.registers, 15: before.registers[15] + 2, ...changed };
  return { registers: Object.values(all) };
};

const intoLow = (rule) => (before, op) => {
  const { result, ...flags } = rule(before, op);
  return { ...registersWith(before, { [op & 7]: result }), ...flags };
};
const operands = (before, op) => [before.registers[op & 7], before.registers[(op >>> 3) & 7]];

/** Each difference: what the manual says of registers, flags, the event register. */
const DIFFERENCES = {
  LSL_REG: intoLow((before, op) =>
    shiftC(before, op, (x, by) => x << by, (x, by) => by <= 32 && bit(x, 32 - by)),
  ),
  LSR_REG: intoLow((before, op) =>
    shiftC(before, op, (x, by) => x >> by, (x, by) => bit(x, by - 1)),
  ),
  ASR_REG: intoLow((before, op) => {
    const signed = (x) => BigInt.asIntN(32, x);
    return shiftC(before, op, (x, by) => signed(x) >> by, (x, by) => bit(signed(x), by - 1));
  }),
  ROR: intoLow((before, op) => {
    const rotated = (x, by) => ((x << 32n) | x) >> (by % 32n);
    return shiftC(before, op, rotated, (x, by) => bit(rotated(x, BigInt(by)), 31));
  }),
  ADC: intoLow((before, op) => addWithCarry(...operands(before, op), before.C ? 1n : 0n)),
  SBC: intoLow((before, op) => {
    const [x, y] = operands(before, op);
    return addWithCarry(x, ~y >>> 0, before.C ? 1n : 0n);
  }),
  // a base that is stored is written back, too: A6.7.58
  STM: (before, op) => {
    const base = (op >>> 8) & 7;
    const count = [...(op & 255).toString(2)].filter((digit) => digit === '1').length;
    const after = before.registers[base] + 4 * count;
    return registersWith(before, { [base]: after });
  },
  // the target is read before the link register is written: A6.7.14
  BLX: (before, op) => {
    const [target, next] = [before.registers[(op >>> 3) & 15], before.registers[15] + 2];
    return registersWith(before, { 14: (next | 1) >>> 0, 15: (target & ~1) >>> 0 });
  },
  SEV: (before) => ({ ...registersWith(before, {}), eventRegistered: true }),
};

// --- one instruction

/** Registers and instruction such that it is predictable and stays within the memory. */
function situation([name, mask, wanted]) {
  let op = wanted | (random() & ~mask & 0xffff);
  const registers = Array.from({ length: 16 }, value);
  const middle = () => SRAM + 4 * (WORDS / 2 + below(16));
  registers[13] = middle();
  registers[15] = CODE + 2 * below(2);
  let second = 0;
  if (/^(LDR|STR)/.test(name) && !/LITERAL|SP/.test(name)) {
    const [base, index] = [(op >>> 3) & 7, (op >>> 6) & 7];
    registers[base] = middle();
    if (/REG|RS/.test(name) && index !== base) registers[index] = (4 * (below(32) - 16)) >>> 0;
    else if (/REG|RS/.test(name)) registers[base] = (middle() / 2) >>> 0;
  } else if (name === 'LDM' || name === 'STM') {
    op |= 1 << below(8); // an empty list is unpredictable
    const [base, list] = [(op >>> 8) & 7, op & 255];
    // what is stored of a base that is not the lowest in the list is unknown
    if (name === 'STM' && list & ((1 << base) - 1)) op &= ~(1 << base);
    registers[base] = middle();
  } else if (name === 'PUSH' || name === 'POP') {
    op |= 1 << below(8);
  } else if (name === 'BX' || name === 'BLX') {
    if (((op >>> 3) & 15) === 15) op &= ~8;
    for (const n of registers.keys()) if (n < 13 || n === 14) registers[n] |= 1;
    registers.forEach((word, n) => (registers[n] = n === 15 ? word : word >>> 0));
    if (((op >>> 3) & 15) === 13) op &= ~8;
  } else if (name === 'CMP_HIGH') {
    if (((op >>> 3) & 15) === 15) op &= ~8;
    if ((op & 0x87) === 0x87) op &= ~0x80;
  } else if (name === 'ADD_HIGH' && ((op >>> 3) & 15) === 15 && (op & 0x87) === 0x87) {
    op &= ~0x80; // both are the program counter
  } else if (name === 'BL') second = 0xd000 | random();
  return { op, second: second & 0xffff, registers };
}

function seen({ core }) {
  const found = { registers: Array.from(core.registers), eventRegistered: core.eventRegistered };
  for (const flag of FLAGS) found[flag] = core[flag];
  return found;
}

function execute({ core, memory, mcu }, { op, second, registers, flags }, words) {
  memory.set(words);
  for (let at = 0; at < 4; at += 2) mcu.writeUint16(registers[15] + at, at ? second : op);
  core.registers.set(registers);
  for (const flag of FLAGS) core[flag] = flags[flag];
  core.eventRegistered = false;
  return core.executeInstruction();
}

test('every instruction does as in rp2040js, or as the manual says', () => {
  const words = Uint32Array.from({ length: WORDS }, () => random() | 1); // odd: POP may load a PC
  const explained = Object.fromEntries(Object.keys(DIFFERENCES).map((name) => [name, 0]));
  for (let round = 0; round < ROUNDS; round++) {
    const instruction = INSTRUCTIONS[round % INSTRUCTIONS.length];
    const [name] = instruction;
    const flags = Object.fromEntries(FLAGS.map((flag) => [flag, random() > 0x7fffffff]));
    const now = { ...situation(instruction), flags };
    words[below(WORDS)] = value() | 1;
    const cycles = [ours, theirs].map((it) => execute(it, now, words));
    const what = () => `${name} ${now.op.toString(16)} ${JSON.stringify(now)}`;
    assert.equal(cycles[0], cycles[1], `cycles of ${what()}`);
    for (let n = 0; n < WORDS; n++) {
      if (ours.memory[n] !== theirs.memory[n]) assert.fail(`memory after ${what()}`);
    }
    const [mine, other] = [seen(ours), seen(theirs)];
    if (JSON.stringify(mine) === JSON.stringify(other)) continue;
    const manual = DIFFERENCES[name]?.({ ...now.flags, registers: now.registers }, now.op);
    assert.ok(manual, `not explained: ${what()}: ${JSON.stringify([mine, other])}`);
    assert.deepEqual(mine, { ...mine, ...manual }, what());
    explained[name]++;
  }
  // one that no longer differs is no difference
  for (const [name, count] of Object.entries(explained)) assert.ok(count > 0, `${name} agrees`);
});

test('the manual is followed by each instruction that may differ, also where both agree', () => {
  for (const [name, rule] of Object.entries(DIFFERENCES)) {
    const instruction = INSTRUCTIONS.find(([it]) => it === name);
    for (let round = 0; round < 2000; round++) {
      const flags = Object.fromEntries(FLAGS.map((flag) => [flag, random() > 0x7fffffff]));
      const now = { ...situation(instruction), flags };
      execute(ours, now, new Uint32Array(WORDS));
      const mine = seen(ours);
      const manual = rule({ ...flags, registers: now.registers }, now.op);
      if (JSON.stringify(mine) !== JSON.stringify({ ...mine, ...manual }))
        assert.fail(`${name} ${JSON.stringify(now)}: ${JSON.stringify([mine, manual])}`);
    }
  }
});
